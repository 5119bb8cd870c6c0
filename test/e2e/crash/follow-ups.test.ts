import { afterAll, expect, onTestFinished, test } from 'vitest';
import { expectFollowUpsKept } from './expect-kept.ts';
import { type FollowUpRunOptions, type FollowUpRunResult, runFollowUpProof } from './follow-ups/harness.ts';
import { printFollowUps } from './follow-ups/report.ts';
import { controlRun, longRun } from './follow-ups/sizes.ts';

// For thousands of payments: npm run crashproof -- follow-ups.
const size = { ...longRun, keys: 250, sweepers: 3, workers: 2, chargeKills: 8, kills: 24 };

const results: FollowUpRunResult[] = [];

afterAll(() => printFollowUps('Follow-ups by sweepers that are killed', results));

async function runAndRecord(
  options: Pick<FollowUpRunOptions, 'kind'> & Partial<FollowUpRunOptions>,
): Promise<FollowUpRunResult> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const result = await runFollowUpProof({ ...size, seed: 1, ...options, signal: controller.signal });
  results.push(result);
  return result;
}

test('follows payments up while sweepers are killed, with SQLite', async () => {
  expectFollowUpsKept(await runAndRecord({ kind: 'sqlite' }), size.kills);
});

test('finds double work in the same run without the claim', async () => {
  const { unexplained, early } = await runAndRecord({ ...controlRun, kind: 'sqlite', control: 'no lease' });
  expect(unexplained).toBeGreaterThan(0);
  expect(early).toBeGreaterThan(0);
});

// npm run test:databases has the first run on PostgreSQL, Redis and the other databases.
test('finds double calls of handlers if steps ignore versions, too', async () => {
  const { onFinalRepeated, repeatedWithoutCause } = await runAndRecord({
    ...controlRun,
    kind: 'sqlite',
    control: 'no lease, no version',
  });
  expect(onFinalRepeated).toBeGreaterThan(0);
  expect(repeatedWithoutCause).toBeGreaterThan(0);
});
