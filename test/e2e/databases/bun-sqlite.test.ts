import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { journalConformance } from '../../../src/testing/index.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { type CountingService, startCountingService } from './counting-service.ts';

const program = fileURLToPath(new URL('programs/bun-sqlite.ts', import.meta.url));
const bun = fileURLToPath(new URL('node_modules/bun/bin/bun.exe', import.meta.url));

/** How many keys the processes charge. */
const KEYS = 40;

/** Of the processes that are killed, so that the next ones do not wait long for what these leave, in milliseconds. */
const SHORT_LEASE = 1_000;
/** Of the last process, which must not lose its own claims on a busy machine. */
const LEASE = 5_000;

const hasBun = existsSync(bun);
if (!hasBun) console.warn('The tests of bun-sqlite are skipped: Bun is not installed.');

/** The processes of these tests are Node, so each handle is in a process of Bun. */
describe.skipIf(!hasBun)('bun-sqlite', () => {
  let service: CountingService;
  beforeAll(async () => {
    service = await startCountingService();
  });
  afterAll(() => service?.stop());

  function createPlace(): string {
    const folder = createTempFolder();
    onTestFinished(() => folder.remove());
    return join(folder.path, 'payments.db');
  }

  function start(command: string, place: string, keys = 0, lease = SHORT_LEASE): ChildProcess {
    const child = spawn(bun, ['run', program, command, place, service.baseUrl, `${keys}`, `${lease}`]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  /** Returns what a process printed, or `undefined` if it was killed. */
  async function readResult({ stdout, stderr }: ChildProcess): Promise<unknown> {
    if (!stdout || !stderr) throw new Error('The process has no output.');
    const [printed, failure] = await Promise.all([text(stdout), text(stderr)]);
    if (failure !== '') throw new Error(failure);
    return printed === '' ? undefined : JSON.parse(printed);
  }

  test('conforms', async () => {
    const result = await readResult(start('conformance', createPlace()));
    const cases = journalConformance(() => {
      throw new Error('The cases are run on Bun.');
    });
    expect(result).toEqual({ count: cases.length, failed: [] });
  });

  test('charges, replays, lists, follows up and refuses a transaction', async () => {
    const result = await readResult(start('shop', createPlace(), 0, LEASE));
    expect(result).toEqual({
      first: 'TXN-order-1-1',
      replayed: 'TXN-order-1-1',
      inside: expect.stringMatching(/^JournalError: .*inside a transaction/),
      listed: ['order-1'],
      count: { records: 1, attention: 0 },
      delivered: ['order-1'],
      pragmas: [{ journal_mode: 'wal' }, { synchronous: 2 }],
    });
    expect(service.chargesFor('order-2')).toEqual([]);
  });

  test('never charges a key twice while processes of Bun are killed', async () => {
    const place = createPlace();
    const keys = Array.from({ length: KEYS }, (_, index) => `order-killed-${index}`);
    const isCharged = (key: string) => service.chargesFor(key).length > 0;
    for (let generation = 0; generation < 8; generation++) {
      // Some charges of the generation end. The next one is in flight when the processes are killed.
      const held = keys.filter((key) => !isCharged(key)).slice(generation % 3);
      const releases = held.map((key) => service.hold(key));
      const workers = [start('charge', place, KEYS), start('charge', place, KEYS)];
      await expect.poll(() => held.some(isCharged), { interval: 10 }).toBe(true);
      await Promise.all(workers.map(kill));
      for (const release of releases) release();
    }
    const last = start('charge', place, KEYS, LEASE);
    const results = z.record(z.string(), z.string()).parse(await readResult(last));
    const found = keys.map((key) => ({ key, charges: service.chargesFor(key), result: results[key] }));
    expect(found.filter(({ charges }) => charges.length > 1)).toEqual([]);
    const isUnknown = (result = '') => result.startsWith('OutcomeUnknownError');
    expect(found.filter(({ charges, result }) => result !== charges[0] && !isUnknown(result))).toEqual([]);
    expect(found.filter(({ result }) => isUnknown(result)).length).toBeGreaterThan(0);
    expect(found.filter(({ result }) => isUnknown(result)).length).toBeLessThanOrEqual(16);
  });
});

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
