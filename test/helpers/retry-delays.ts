import { onTestFinished, vi } from 'vitest';
import type { PaymentsEvent } from '../../src/index.ts';

/** Makes timers fake, so that each retry's delay passes at once. Returns the delays, and the `onEvent` that skips them. */
export function skipRetryDelays() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const delays: number[] = [];
  const onEvent = (event: PaymentsEvent) => {
    if (event.type !== 'retry') return;
    delays.push(event.delay);
    setImmediate(() => vi.advanceTimersByTime(event.delay));
  };
  return { delays, onEvent };
}
