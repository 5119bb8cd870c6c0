import fc from 'fast-check';
import { expect, test } from 'vitest';

test('gives the same values for the same seed (property tests)', () => {
  const seed = Number(process.env.PROPERTY_SEED);
  expect(Number.isInteger(seed)).toBe(true);
  expect(fc.readConfigureGlobal().seed).toBe(seed);
  expect(fc.sample(fc.nat(), 5)).toEqual(fc.sample(fc.nat(), { seed, numRuns: 5 }));
});
