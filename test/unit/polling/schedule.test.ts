import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFinal, type NextDelayInput, nextDelay } from '../../../src/schedule.ts';

/** Returns the times of all checks. `given` returns the options of each. */
function momentsOf(given: () => Partial<NextDelayInput>): number[] {
  const times: number[] = [];
  let elapsed = 0;
  for (;;) {
    const delay = nextDelay({ ...given(), elapsed });
    if (delay === null || times.length > 100_000) return times;
    elapsed += delay;
    times.push(elapsed);
  }
}

// Built by `npm run build`, which `npm test` runs first.
const dist = new URL('../../../dist/', import.meta.url);

test.each([
  // The first check is 8 s after the charge, unless that is sooner than the shortest delay.
  [0, 8_000],
  [1_500, 6_500],
  [5_500, 3_000],
  [7_999, 3_000],
  // The delay is 0.9·√t seconds, from 3 s
  [8_000, 3_000],
  [11_000, 3_000],
  [36_500, 5_438],
  [60_000, 6_972],
  [277_000, 14_979],
  // to 15 s.
  [278_000, 15_000],
  // The last check is due at the deadline, and the delays before it are split evenly.
  [582_000, 15_000],
  [582_001, 9_000],
  [585_000, 15_000],
  [590_000, 10_000],
  [599_999, 1],
  [599_999.5, null],
  [600_000, null],
])('after %d ms returns a delay of %s ms', (elapsed, delay) => {
  expect(nextDelay({ elapsed })).toBe(delay);
});

test.each([
  [0, 500, 500],
  [200, 500, 300],
  [499.5, 500, 1],
  [500, 500, 3_000],
  [0, 0, 3_000],
])('after %d ms with an initialDelay of %d ms returns %d ms', (elapsed, initialDelay, delay) => {
  expect(nextDelay({ elapsed, initialDelay, minDelay: 3_000 })).toBe(delay);
  expect(nextDelay({ elapsed, initialDelay, minDelay: 3_000, timeout: elapsed + 3_000 })).toBe(delay);
  expect(nextDelay({ elapsed, initialDelay, minDelay: 3_000, retryAfter: 5_000 })).toBe(5_000);
});

test.each([
  [8_000, 9_000],
  [9_000, 9_000],
  [9_001, 18_000],
  [16_000, 18_000],
])('with 18 s left, a Retry-After of %d ms returns %d ms', (retryAfter, delay) => {
  expect(nextDelay({ elapsed: 582_000, minDelay: 5_000, retryAfter })).toBe(delay);
});

test('checks a whole wait at these seconds, from the charge to the deadline', () => {
  const times = momentsOf(() => ({}));
  expect(times.map((time) => Math.round(time / 1000))).toEqual([
    8, 11, 14, 17, 21, 25, 30, 35, 40, 46, 52, 58, 65, 72, 80, 88, 97, 105, 115, 124, 134, 145, 156, 167, 178,
    190, 203, 216, 229, 242, 256, 271, 286, 301, 316, 331, 346, 361, 376, 391, 406, 421, 436, 451, 466, 481,
    496, 511, 526, 541, 556, 571, 586, 600,
  ]);
});

test.each([
  [0, 6_275],
  [1, 7_669],
])('changes the delay by a tenth for a random of %d', (random, delay) => {
  expect(nextDelay({ elapsed: 60_000, random })).toBe(delay);
});

const duration = (least: number, most: number) =>
  fc.oneof(fc.integer({ min: least, max: most }), fc.double({ min: least, max: most, noNaN: true }));

const rules = fc
  .record({ initialDelay: duration(0, 60_000), minDelay: duration(1, 30_000), wider: duration(0, 60_000) })
  .map(({ initialDelay, minDelay, wider }) => ({ initialDelay, minDelay, maxDelay: minDelay + wider }));

const input = fc
  .tuple(
    rules,
    fc.record({
      elapsed: duration(-10_000, 2_000_000),
      timeout: fc.oneof(duration(1, 2_000_000), fc.constant(Number.POSITIVE_INFINITY)),
      random: fc.double({ min: 0, max: 1, noNaN: true }),
      retryAfter: fc.option(duration(0, 2 ** 31 - 1), { nil: undefined }),
    }),
  )
  .map(([delays, rest]) => ({ ...delays, ...rest }));

const remainingOf = ({ elapsed, timeout }: { elapsed: number; timeout: number }) =>
  Math.floor(timeout - Math.max(0, elapsed));

test('returns whole milliseconds, at least one, up to the deadline (property)', () => {
  fc.assert(
    fc.property(input, (given) => {
      const delay = nextDelay(given);
      if (delay === null) return;
      expect(Number.isSafeInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(1);
      expect(delay).toBeLessThanOrEqual(remainingOf(given));
    }),
  );
});

test('returns a delay until 1 ms before the deadline, and null after it', () => {
  fc.assert(
    fc.property(input, (given) => {
      expect(nextDelay(given) === null).toBe(remainingOf(given) <= 0);
    }),
  );
});

test('returns no less than minDelay and Retry-After, unless time runs out', () => {
  fc.assert(
    fc.property(input, (given) => {
      const delay = nextDelay(given);
      if (delay === null || delay === remainingOf(given)) return;
      const left = given.initialDelay - Math.max(0, given.elapsed);
      const isEarlyFirst = left > 0 && given.initialDelay < given.minDelay;
      expect(delay).toBeGreaterThanOrEqual(isEarlyFirst ? left : given.minDelay);
      expect(delay).toBeGreaterThanOrEqual(given.retryAfter ?? 0);
    }),
  );
});

test('exceeds maxDelay only for the first and last check and Retry-After', () => {
  fc.assert(
    fc.property(input, (given) => {
      const longest = Math.max(given.maxDelay, given.initialDelay, given.retryAfter ?? 0);
      const delay = nextDelay(given);
      expect(delay ?? 0).toBeLessThanOrEqual(Math.ceil(longest + given.minDelay));
    }),
  );
});

test('makes the last check due at the deadline', () => {
  const chances = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 });
  const timeouts = fc.integer({ min: 1, max: 600_000 });
  fc.assert(
    fc.property(rules, timeouts, chances, (delays, timeout, randoms) => {
      let turn = 0;
      const given = () => ({
        ...delays,
        minDelay: Math.max(500, delays.minDelay),
        timeout,
        random: randoms[turn++ % randoms.length],
      });
      expect(momentsOf(given).at(-1)).toBe(timeout);
    }),
  );
});

test.each([
  ['elapsed', Number.NaN],
  ['elapsed', undefined],
  ['timeout', Number.NaN],
  ['timeout', null],
  ['elapsed', null],
  ['minDelay', '3000'],
  ['minDelay', Number.NaN],
  ['retryAfter', Number.NaN],
  ['random', Number.NaN],
  ['elapsed', 60_000n],
  ['maxDelay', 3_000n],
  ['timeout', Symbol('ten minutes')],
])('throws for a wrong %s (%s)', (name, value) => {
  expect(() => nextDelay({ elapsed: 60_000, [name]: value })).toThrow(RangeError);
});

test.each([undefined, null, 60_000])('throws for an input of %s without elapsed', (given) => {
  expect(() => Reflect.apply(nextDelay, undefined, [given])).toThrow(RangeError);
});

test.each([
  { initialDelay: Number.POSITIVE_INFINITY },
  { initialDelay: 0, minDelay: Number.POSITIVE_INFINITY },
  { retryAfter: Number.POSITIVE_INFINITY },
  { retryAfter: 2 ** 40, timeout: 2 ** 41 },
  { initialDelay: 0, minDelay: 2 ** 40, timeout: 2 ** 40 + 1 },
  { retryAfter: 2 ** 31, timeout: 2 ** 31 + 1 },
])('returns no delay longer than a timer can hold: %o', (given) => {
  expect(nextDelay({ elapsed: 0, timeout: Number.POSITIVE_INFINITY, ...given })).toBe(2 ** 31 - 1);
});

test('isFinal accepts success, failed and abandoned alone', () => {
  expect(['success', 'failed', 'abandoned'].every((status) => isFinal(status))).toBe(true);
  expect(['pending', 'processing', 'unrecognised', 'Success', 'reversed', ''].some((s) => isFinal(s))).toBe(
    false,
  );
});

test.each(['schedule.js', 'schedule.cjs'])(
  '%s runs without import, clock, randomness or timers',
  async (name) => {
    const { outputFiles } = await build({
      entryPoints: [new URL(name, dist).pathname],
      bundle: true,
      format: 'iife',
      globalName: 'schedule',
      write: false,
    });
    const code = outputFiles[0]?.text ?? '';
    // Not even named: another path through the code could use it.
    expect(code).not.toMatch(
      /\b(?:require\(|import\b|Date\b|performance\b|random\(|set(?:Timeout|Interval|Immediate)|process\b)/,
    );
    // A new context has the globals of the language alone.
    const run = 'schedule.nextDelay({ elapsed: 60000, retryAfter: 9000 })';
    expect(runInNewContext(`delete globalThis.Date; delete Math.random; ${code}; ${run}`)).toBe(9_000);
  },
);
