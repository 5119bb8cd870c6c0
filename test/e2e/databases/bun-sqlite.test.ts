import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { journalConformance } from '../../../src/developers/mock/index.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { type CountingService, startCountingService } from './counting-service.ts';

const program = fileURLToPath(new URL('programs/bun-sqlite.ts', import.meta.url));
const bun = fileURLToPath(new URL('node_modules/bun/bin/bun.exe', import.meta.url));

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

  function start(command: string, place: string): ChildProcess {
    const child = spawn(bun, ['run', program, command, place, service.baseUrl]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  /** Returns what a process printed. */
  async function readResult({ stdout, stderr }: ChildProcess): Promise<unknown> {
    if (!stdout || !stderr) throw new Error('The process has no output.');
    const [printed, failure] = await Promise.all([text(stdout), text(stderr)]);
    if (failure !== '') throw new Error(failure);
    return JSON.parse(printed);
  }

  test('conforms', async () => {
    const result = await readResult(start('conformance', createPlace()));
    const cases = journalConformance(() => {
      throw new Error('The cases are run on Bun.');
    });
    expect(result).toEqual({ count: cases.length, failed: [] });
  });

  test('charges, replays, lists, follows up and refuses a transaction', async () => {
    const result = await readResult(start('shop', createPlace()));
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
});
