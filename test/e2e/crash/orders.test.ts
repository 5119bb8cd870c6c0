import { expect, onTestFinished, test } from 'vitest';
import { type OrderRunOptions, type OrderRunResult, runOrderProof } from './orders/harness.ts';

// For more, and on other databases: npm run crashproof -- orders.
const size = { orders: 20, workers: 2, kills: 16 };

async function run(options: Partial<OrderRunOptions>): Promise<OrderRunResult> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return await runOrderProof({ ...size, kind: 'sqlite', seed: 1, ...options, signal: controller.signal });
}

test('pays each order at most once while processes of the shop are killed', async () => {
  const { violations, kills, paid } = await run({});
  expect(violations).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(size.kills);
  expect(paid).toBeGreaterThan(0);
});

test('finds double charges in the same run with keys made of the time', async () => {
  const { violations } = await run({ isControl: true, kills: 2 });
  expect(violations.filter((violation) => violation.includes('could be paid'))).not.toEqual([]);
});
