import { expect, test, vi } from 'vitest';
import { Clock } from '../../../../src/developers/service/clock.ts';
import { useFakeClock } from './start-mock.ts';

/** Starts a clock at 1000 ms, and lists what rings as `<name> at <time>`. */
function startClock() {
  useFakeClock(1_000);
  const clock = new Clock();
  const rung: string[] = [];
  const ring = (name: string) => () => void rung.push(`${name} at ${clock.now()}`);
  return { clock, rung, ring };
}

test('rings in the order of time when it is advanced, and then waits for the rest', () => {
  const { clock, rung, ring } = startClock();
  clock.schedule(5_000, ring('third'));
  clock.schedule(5_000, ring('fourth'));
  const cancels: (() => void)[] = [];
  clock.schedule(2_000, () => {
    ring('first')();
    for (const cancel of cancels) cancel();
    clock.schedule(3_000, ring('second'));
  });
  cancels.push(clock.schedule(4_000, ring('cancelled')));
  clock.schedule(20_000, ring('later'));
  clock.advance(10_000);
  const now = ['first at 2000', 'second at 3000', 'third at 5000', 'fourth at 5000'];
  expect([clock.now(), rung]).toEqual([11_000, now]);
  vi.advanceTimersByTime(8_999);
  expect(rung).toEqual(now);
  vi.advanceTimersByTime(1);
  expect(rung).toEqual([...now, 'later at 20000']);
});

test('rings no alarm that was cancelled, and leaves no timer', () => {
  const { clock, rung, ring } = startClock();
  const cancel = clock.schedule(2_000, ring('alarm'));
  clock.schedule(3_000, ring('another'));
  cancel();
  expect(vi.getTimerCount()).toBe(1);
  clock.clear();
  expect(vi.getTimerCount()).toBe(0);
  clock.advance(10_000);
  expect(rung).toEqual([]);
});
