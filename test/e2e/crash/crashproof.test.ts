import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { hasRedis } from '../../helpers/databases.ts';
import { isExhaustive, sized } from '../../helpers/sized.ts';
import { type Outcome, type RunOptions, runCrashProof } from './harness.ts';
import { printOutcomes } from './report.ts';
import { onFile, onPostgres, onRedis } from './servers.ts';

// The same, for thousands of keys: npm run crashproof. The short form is one journal, and none.
const few = sized({ keys: 80, workers: 3, kills: 8, seed: 1 }, { keys: 200, workers: 3, kills: 16, seed: 1 });
const fewer = { keys: 80, workers: 3, kills: 8, seed: 1 };
vi.setConfig({ testTimeout: 180_000 });

const outcomes: Outcome[] = [];

afterAll(() => printOutcomes('Charges by workers that are killed', outcomes));

async function tried(options: Pick<RunOptions, 'kind'> & Partial<RunOptions>): Promise<Outcome> {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const outcome = await runCrashProof({ ...few, ...options, signal: ending.signal });
  outcomes.push(outcome);
  return outcome;
}

/** What has to hold, and that the run had it in it. */
function expectKept({ keys, untruths, doubled, endings, ...counts }: Outcome) {
  expect(untruths).toEqual([]);
  expect(doubled).toBe(0);
  expect(counts.kills).toBeGreaterThanOrEqual(fewer.kills);
  expect(counts.restarts).toBe(counts.kills);
  const { completed = 0, rejected = 0, unknown = 0, notCharged = 0 } = endings ?? {};
  expect(completed + rejected + unknown + notCharged).toBe(keys);
  for (const count of [completed, unknown, counts.answered, counts.conflicts])
    expect(count).toBeGreaterThan(0);
}

test("with a journal in SQLite no key is charged twice, and every record and result is the service's", () =>
  onFile(async () => expectKept(await tried({ kind: 'sqlite' }))));

test('without a journal the same run charges twice, also by running a step again after a crash', async () => {
  const { doubled, doubledAfterCrash } = await tried({ ...fewer, kind: 'none' });
  expect(doubled).toBeGreaterThan(doubledAfterCrash);
  expect(doubledAfterCrash).toBeGreaterThan(0);
});

if (isExhaustive) {
  test('nor with one in PostgreSQL', () =>
    onPostgres(async (url) => expectKept(await tried({ kind: 'postgres', url, seed: 2 }))));

  test.runIf(hasRedis)('nor with one in Redis (left out where redis-server is not on the PATH)', () =>
    onRedis(async (url) => expectKept(await tried({ kind: 'redis', url, seed: 3 }))),
  );

  test("nor where somebody settles keys by the service's books while the workers go on", () =>
    onFile(async () => {
      const outcome = await tried({ ...fewer, keys: 120, kind: 'sqlite', person: true });
      expectKept(outcome);
      expect(outcome.settled?.charged).toBeGreaterThan(0);
      expect(outcome.settled?.notCharged).toBeGreaterThan(0);
      expect(outcome.heldUp).toBeGreaterThan(0);
    }));

  test('there were refusals among them, a few in a run', () => {
    const refused = outcomes.map(({ endings }) => endings?.rejected ?? 0);
    expect(refused.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  });

  test('so it does with a journal that dies with its process', async () => {
    expect((await tried({ ...fewer, kind: 'memory' })).doubledAfterCrash).toBeGreaterThan(0);
  });

  test('and with one that takes whoever died for innocent', async () => {
    const { doubled, untruths } = await tried({ ...fewer, kind: 'expired is free' });
    expect(doubled).toBeGreaterThan(0);
    expect(untruths.length).toBeGreaterThan(0);
  });
}
