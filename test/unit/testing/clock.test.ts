import { beforeEach, expect, test, vi } from 'vitest';
import { Clock } from '../../../src/testing/clock.ts';
import { useFakeClock } from './start-mock.ts';

let clock: Clock;
let rung: string[];
const ring = (name: string) => () => {
  rung.push(`${name} at ${clock.now()}`);
};

beforeEach(() => {
  useFakeClock(1_000);
  clock = new Clock();
  rung = [];
});

test('follows the clock of the test', () => {
  vi.advanceTimersByTime(500);
  expect(clock.now()).toBe(1_500);
});

test('rings at the time, once', () => {
  clock.schedule(2_000, ring('alarm'));
  vi.advanceTimersByTime(999);
  expect(rung).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(rung).toEqual(['alarm at 2000']);
});

test('rings an alarm of the past in the next turn', () => {
  clock.schedule(0, ring('alarm'));
  expect(rung).toEqual([]);
  vi.advanceTimersByTime(0);
  expect(rung).toEqual(['alarm at 1000']);
});

test('rings in the order of time when it is advanced', () => {
  clock.schedule(5_000, ring('third'));
  clock.schedule(2_000, () => {
    ring('first')();
    clock.schedule(3_000, ring('second'));
  });
  clock.schedule(20_000, ring('later'));
  clock.advance(10_000);
  expect(rung).toEqual(['first at 2000', 'second at 3000', 'third at 5000']);
  expect(clock.now()).toBe(11_000);
});

test('waits only for the rest after it was advanced', () => {
  clock.schedule(20_000, ring('alarm'));
  clock.advance(10_000);
  vi.advanceTimersByTime(8_999);
  expect(rung).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(rung).toEqual(['alarm at 20000']);
});

test('waits longer than one timer can', () => {
  const month = 30 * 86_400_000;
  clock.schedule(1_000 + month, ring('alarm'));
  vi.advanceTimersByTime(month - 1);
  expect(rung).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(rung).toHaveLength(1);
});

test('rings no alarm that was cancelled, and leaves no timer', () => {
  const cancel = clock.schedule(2_000, ring('alarm'));
  clock.schedule(3_000, ring('another'));
  cancel();
  clock.clear();
  expect(vi.getTimerCount()).toBe(0);
  clock.advance(10_000);
  expect(rung).toEqual([]);
});

test('rings the other alarms if one cancels the next', () => {
  const cancels: (() => void)[] = [];
  clock.schedule(2_000, () => {
    for (const cancel of cancels) cancel();
  });
  cancels.push(clock.schedule(3_000, ring('cancelled')));
  clock.schedule(4_000, ring('kept'));
  clock.advance(10_000);
  expect(rung).toEqual(['kept at 4000']);
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15])('refuses to advance by %s', (milliseconds) => {
  expect(() => clock.advance(milliseconds)).toThrow(RangeError);
  expect(clock.now()).toBe(1_000);
});
