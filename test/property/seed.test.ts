import fc from 'fast-check';
import { expect, test, vi } from 'vitest';

test('gives the same values for the same seed (property tests)', () => {
  const seed = Number(process.env.PROPERTY_SEED);
  expect(Number.isInteger(seed)).toBe(true);
  expect(fc.readConfigureGlobal().seed).toBe(seed);
  expect(fc.sample(fc.nat(), 5)).toEqual(fc.sample(fc.nat(), { seed, numRuns: 5 }));
});

test('gives the same jitter for the same seed (property tests)', async () => {
  const draw = async () => {
    vi.resetModules();
    await import('../helpers/setup.ts');
    return Array.from({ length: 5 }, () => Math.random());
  };
  const drawn = await draw();
  expect(new Set(drawn).size).toBe(5);
  expect(await draw()).toEqual(drawn);
});
