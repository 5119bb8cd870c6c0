import { afterAll, expect, onTestFinished, test } from 'vitest';
import { expectChargesKept } from './expect-kept.ts';
import { type RunOptions, type RunResult, runCrashProof } from './harness.ts';
import { printResults } from './report.ts';

// For thousands of keys: npm run crashproof.
const few = { keys: 200, workers: 3, kills: 16, seed: 1 };
const fewer = { ...few, keys: 80, kills: 8 };

const results: RunResult[] = [];
const expectKept = (result: RunResult) => expectChargesKept(result, fewer.kills);

afterAll(() => printResults('Charges by workers that are killed', results));

async function runAndRecord(options: Pick<RunOptions, 'kind'> & Partial<RunOptions>): Promise<RunResult> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const result = await runCrashProof({ ...few, ...options, signal: controller.signal });
  results.push(result);
  return result;
}

test('never charges a key twice through crashes, with SQLite', async () => {
  expectKept(await runAndRecord({ kind: 'sqlite' }));
});

test('charges twice in the same run without a journal', async () => {
  const { doubled, doubledAfterCrash } = await runAndRecord({ ...fewer, kind: 'none' });
  // Also because a job queue runs a step again after a crash.
  expect(doubled).toBeGreaterThan(doubledAfterCrash);
  expect(doubledAfterCrash).toBeGreaterThan(0);
});

// npm run test:databases has these runs on PostgreSQL, Redis and the other databases.
test('never charges a key twice while a reviewer resolves keys', async () => {
  const result = await runAndRecord({ ...fewer, keys: 120, kind: 'sqlite', hasReviewer: true });
  expectKept(result);
  expect(result.resolved?.charged).toBeGreaterThan(0);
  expect(result.resolved?.notCharged).toBeGreaterThan(0);
  expect(result.paused).toBeGreaterThan(0);
});

test('had rejected charges in these runs', () => {
  const rejected = results.map(({ states }) => states?.rejected ?? 0);
  expect(rejected.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
});

test('charges twice with a journal that ends with its process', async () => {
  expect((await runAndRecord({ ...fewer, kind: 'memory' })).doubledAfterCrash).toBeGreaterThan(0);
});

test('charges twice with a journal that frees expired keys', async () => {
  const { doubled, violations } = await runAndRecord({ ...fewer, kind: 'frees expired keys' });
  expect(doubled).toBeGreaterThan(0);
  expect(violations.length).toBeGreaterThan(0);
});
