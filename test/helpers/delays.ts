import { onTestFinished, vi } from 'vitest';
import type { PaymentsEvent } from '../../src/index.ts';

/** Timers are fake, and each retry's delay passes in no time. */
export function skippingDelays() {
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
