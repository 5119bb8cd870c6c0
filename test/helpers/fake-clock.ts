import { afterEach, beforeEach, vi } from 'vitest';

export const SECOND = 1_000;
export const MINUTE = 60_000;

/** Runs every test of a file on a fake clock, and without jitter. */
export function useFakeClock(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
  });
  afterEach(() => {
    // First: what spies on a fake timer would bring it back.
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

/** Advances the clock by `time`, by default 20 minutes, and returns the promise. */
export async function runToEnd<T>(promise: Promise<T>, time = 20 * MINUTE): Promise<T> {
  promise.catch(() => {});
  await vi.advanceTimersByTimeAsync(time);
  return promise;
}

/** Returns when a promise settles, in milliseconds from now, and its value or error. */
export function timeSettlement<T>(promise: Promise<T>) {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  return promise.then(
    (value) => ({ at: elapsed(), value, error: undefined }),
    (error: unknown) => ({ at: elapsed(), value: undefined, error }),
  );
}

/** Advances the clock without firing timers, as after a machine's sleep or in a busy thread. */
export function jumpClock(milliseconds: number): void {
  const jumped = vi.isMockFunction(performance.now)
    ? vi.mocked(performance.now).getMockImplementation()
    : undefined;
  const now = jumped ?? performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}

/** Runs every promise that needs no timer. */
export async function flushMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await null;
}
