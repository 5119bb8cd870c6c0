import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { onTestFinished, vi } from 'vitest';
import { runJournalCommand } from '../../../../src/operators/command/run.ts';
import {
  type AttentionItem,
  type AttentionQuery,
  type Journal,
  type JournalEntry,
  type JournalQuery,
  memoryJournal,
} from '../../../../src/stores/index.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../../helpers/service.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';

/** What a test gives the command besides its arguments. */
interface Surroundings {
  /** What the config exports. It has no other way to objects of the test. */
  readonly exports?: object;
  readonly env?: NodeJS.ProcessEnv;
  /** Whether the streams are terminals. */
  readonly isTTY?: boolean;
  /** What the person types. `null`: the input ends. */
  readonly typed?: string | null;
  /** Stops the desk. */
  readonly stopped?: AbortSignal;
  /** Called with each text that is printed. */
  readonly onPrint?: (text: string) => void;
}

const shared = new Map<string, object>();
Object.assign(globalThis, { exportsOfJournalCommandTests: shared });

/** Creates a folder with a config that exports objects of the test. */
export function createConfigFolder(exports?: object): string {
  const { path: folder, remove } = createTempFolder();
  onTestFinished(remove);
  if (!exports) return folder;
  shared.set(folder, exports);
  onTestFinished(() => void shared.delete(folder));
  const found = `globalThis.exportsOfJournalCommandTests.get(${JSON.stringify(folder)})`;
  writeFileSync(join(folder, 'payments.mjs'), `export default ${found};\n`);
  return folder;
}

/** Runs the command in this process. */
export async function runCommand(args: readonly string[], surroundings: Surroundings = {}) {
  const { exports, env = {}, isTTY = false, typed = null, onPrint } = surroundings;
  const { stopped = new AbortController().signal } = surroundings;
  // Node itself decides about colours by these. Those of the terminal that runs the tests are not meant.
  for (const name of ['FORCE_COLOR', 'NO_COLOR', 'TERM', 'COLORTERM', 'CI', 'TMUX', 'NODE_DISABLE_COLORS'])
    vi.stubEnv(name, env[name] ?? (name === 'TERM' ? 'xterm-256color' : undefined));
  onTestFinished(() => void vi.unstubAllEnvs());
  const stdout = createOutput(isTTY, onPrint);
  const stderr = createOutput(isTTY);
  const stdin = Object.assign(new PassThrough(), { isTTY });
  if (typed === null) stdin.end();
  else stdin.write(`${typed}\n`);
  const folder = createConfigFolder(exports);
  const terminal = { stdin, stdout: stdout.stream, stderr: stderr.stream, env, folder, stopped };
  const code = await runJournalCommand(args, terminal);
  return { code, out: stdout.read(), err: stderr.read(), lines: stdout.read().trimEnd().split('\n') };
}

function createOutput(isTTY: boolean, onPrint: (text: string) => void = () => {}) {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      onPrint(String(chunk));
      done();
    },
  });
  const { getColorDepth } = WriteStream.prototype;
  return { stream: Object.assign(stream, { isTTY, getColorDepth }), read: () => text };
}

/** Starts a service that fails each charge, and has one transaction: `TXN-8f2c61d0`, of 25.50 GHS. */
export async function startShop(journal: Journal = memoryJournal()) {
  const service = await startService((response, { method, path }) => {
    if (method === 'POST') return sendJson(response, 503, {});
    if (path.endsWith('/TXN-8f2c61d0')) return sendJson(response, 200, successBodies.verify());
    return sendJson(response, 404, {});
  });
  const payments = service.client({ journal });
  return {
    service,
    payments,
    journal,
    exports: { payments, journal },
    /** Leaves a key unresolved. */
    async leaveUnresolved(key: string, amount = '25.50') {
      await catchError(payments.chargeMobileMoney({ ...charge, amount }, { idempotencyKey: key }));
    },
    async leaveUnresolvedPayment(key: string) {
      const { amount, customer_email } = charge;
      await catchError(payments.initialize({ amount, customer_email }, { idempotencyKey: key }));
    },
  };
}

export type Shop = Awaited<ReturnType<typeof startShop>>;

/** An unresolved entry with every fact, for what a journal could hold. */
export const fullEntry: JournalEntry = {
  key: 'order-17/1',
  order: undefined,
  state: 'unknown',
  operation: 'chargeMobileMoney',
  amount: '25.50',
  currency: 'GHS',
  other: undefined,
  price: { amount: '25.50', currency: 'GHS' },
  network: 'mtn',
  createdAt: Date.parse('2026-11-22T05:12:09.000Z'),
  updatedAt: Date.parse('2026-11-22T05:12:39.000Z'),
  attempts: 2,
  requestIds: ['pcc-1f0c2b', 'pcc-77ab01'],
  reference: 'TXN-8f2c61d0',
  error: { code: 'server_error', status: 503 },
  offers: ['reference', 'not_charged', 'closed'],
  revision: 'r1',
  resolutions: [
    {
      at: Date.parse('2026-11-21T22:00:00.000Z'),
      by: 'ama@shop.example',
      reason: 'the service has no such charge: ticket 4711',
      resolution: 'not_charged',
    },
    {
      at: Date.parse('2026-11-21T22:30:00.000Z'),
      by: 'kofi@shop.example',
      reason: 'found it by its request id',
      resolution: { reference: 'TXN-77aa0011' },
    },
  ],
  inProgress: false,
  service: 'c0ffee'.repeat(10),
  status: 'processing',
  checkedAt: Date.parse('2026-11-22T05:20:00.000Z'),
  nextCheckAt: Date.parse('2026-11-22T05:21:00.000Z'),
  attention: 'unresolved',
};

/** Makes a journal hold these entries, whatever they are. */
export function holdEntries(journal: Journal, entries: readonly JournalEntry[]): Journal {
  const items = entries.flatMap(({ attention, createdAt, ...entry }): AttentionItem[] =>
    attention ? [{ ...entry, reason: attention, since: createdAt }] : [],
  );
  return Object.assign(journal, {
    read: async (key: string) => entries.find((entry) => entry.key === key) ?? null,
    list: async function* ({ state = undefined, limit = Number.POSITIVE_INFINITY }: JournalQuery = {}) {
      yield* entries.filter((entry) => state === undefined || entry.state === state).slice(0, limit);
    },
    listAttention: async function* ({ limit = Number.POSITIVE_INFINITY }: AttentionQuery = {}) {
      yield* items.slice(0, limit);
    },
    count: async () => ({ records: entries.length, attention: items.length }),
  });
}
