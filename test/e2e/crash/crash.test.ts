import { expect, onTestFinished, test } from 'vitest';
import { FINDING, type RunOptions, runCrashProof } from './harness.ts';
import { findMissing } from './judge.ts';
import { controls } from './plan.ts';

// For more, and on other databases: npm run crashproof.
async function run(options: Pick<RunOptions, 'control' | 'kills'>) {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return await runCrashProof({ kind: 'sqlite', seed: 1, ...options, signal: controller.signal });
}

test('keeps its promises while processes are killed, with SQLite', async () => {
  const { violations, counts } = await run({ kills: 30 });
  expect(violations).toEqual([]);
  expect(findMissing(counts)).toEqual([]);
});

test.each(controls)('finds what is wrong with a journal that %s', async (control) => {
  const { violations } = await run({ control, kills: 12 });
  expect(violations.filter((found) => FINDING.test(found))).not.toEqual([]);
});
