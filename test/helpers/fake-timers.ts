import { onTestFinished, vi } from 'vitest';

/** Fakes every clock and timer except `setImmediate`, with which a test lets real work continue. */
export function fakeClocks(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  onTestFinished(() => void vi.useRealTimers());
}

/** Runs promises and the event loop for some turns, while the clocks do not advance. */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Time passes in small steps, with all that it brings about. */
export async function pass(milliseconds: number, step = 500): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += step) {
    await passStep(Math.min(step, milliseconds - passed));
    // What was begun before.
    if (passed === 0) await turns(12);
  }
}

/** Time passes at once, with what it brings about. If no timer fires, that is one turn, because turns cost most of the CPU time. */
async function passStep(milliseconds: number): Promise<void> {
  await turns(advance(milliseconds) ? 12 : 1);
}

/** Advances the clocks, and returns whether a timer of the test has fired. */
function advance(milliseconds: number): boolean {
  const end = Date.now() + milliseconds;
  let isOver = false;
  // It fires after all others that are due by the end.
  setTimeout(() => {
    isOver = true;
  }, milliseconds);
  vi.advanceTimersToNextTimer();
  const hasFired = !isOver;
  vi.advanceTimersByTime(end - Date.now());
  return hasFired;
}

/** Runs a function to its end on fake clocks: what it waits for takes no time, and is the same on a busy machine. */
export async function runOnFakeClocks<Result>(run: () => Promise<Result>): Promise<Result> {
  fakeClocks();
  let isOver = false;
  const result = run().finally(() => {
    isOver = true;
  });
  result.catch(() => {});
  while (!isOver) {
    await turns(10);
    vi.advanceTimersToNextTimer();
  }
  return result;
}
