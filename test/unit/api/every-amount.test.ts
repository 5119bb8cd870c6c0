import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { Range, SweepResult } from '../../helpers/every-amount.ts';
import { chooseSize } from '../../helpers/sized.ts';

const FIRST = 1_00;
const LAST = 1_000_000_00;
/** Small enough that no thread is left with the last big piece. */
const PIECE = 2_500_000;
/** Coprime to 100 and to the stride of the operations, so that each kind of fraction is met in the short form too. */
const STEP = chooseSize(101, 1);

function inThread(range: Range): Promise<SweepResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('../../helpers/every-amount.ts', import.meta.url), {
      workerData: range,
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function sweepAll(): Promise<SweepResult[]> {
  const done: SweepResult[] = [];
  let next = FIRST;
  const thread = async () => {
    while (next <= LAST && done.every(({ broken }) => broken.length === 0)) {
      const from = next;
      next = Math.min(from + PIECE * STEP, LAST + 1);
      done.push(await inThread({ from, to: next - 1, step: STEP }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, thread));
  return done;
}

const total = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0);

/**
 * All 99,999,901 amounts, in the short form each 101st, go through the functions that decide: which are accepted, how
 * they are written as JSON, which are equal. Each 997th also goes through the input schema and the comparison with the
 * response.
 * test/property/amounts.test.ts takes a sample over HTTP.
 */
test('sends and compares every amount to 1,000,000.00 exactly', async () => {
  const swept = await sweepAll();
  expect(swept.flatMap(({ broken }) => broken)).toEqual([]);
  expect(total(swept.map(({ amounts }) => amounts))).toBe(chooseSize(990_099, 99_999_901));
  expect(total(swept.map(({ throughOperation }) => throughOperation))).toBe(chooseSize(993, 100_300));
});
