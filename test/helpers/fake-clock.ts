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
    vi.useRealTimers();
  });
}

/** Lets a promise come to its end, with the clock running as fast as it can. */
export async function settled<T>(promise: Promise<T>, time = 20 * MINUTE): Promise<T> {
  promise.catch(() => {});
  await vi.advanceTimersByTimeAsync(time);
  return promise;
}

/** The moment, since now, at which a promise settles, and how. */
export function timed<T>(promise: Promise<T>) {
  const began = performance.now();
  const since = () => performance.now() - began;
  return promise.then(
    (value) => ({ at: since(), value, error: undefined }),
    (error: unknown) => ({ at: since(), value: undefined, error }),
  );
}

/** The clock goes on while no timer rings: a machine that slept, or a thread that was busy. */
export function clockJumps(milliseconds: number): void {
  const jumped = vi.isMockFunction(performance.now)
    ? vi.mocked(performance.now).getMockImplementation()
    : undefined;
  const now = jumped ?? performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}

/** Lets every promise go on that needs no timer. */
export async function microtasks(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await null;
}
