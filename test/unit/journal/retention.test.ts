import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createJournal,
  type Journal,
  type JournalOptions,
  memoryJournal,
} from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';

const DAY = 24 * 60 * 60 * 1000;

function fakeClock(): void {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** The wall clock is set, and no time passes. */
const jump = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** Time passes, and each day a key is used. */
async function pass(journal: Journal, milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= DAY) {
    vi.advanceTimersByTime(Math.min(left, DAY));
    await claimKey(journal, crypto.randomUUID());
  }
}

/** A store that counts the time keeps records for a week longer, and while nothing is written. */
const MARGIN = 8 * DAY;

const kinds: [string, (options: JournalOptions) => Journal][] = [
  ['memory', (options) => memoryJournal(options)],
  ['SQLite', (options) => sqliteJournal(database(), options)],
];

function database(): DatabaseSync {
  const own = new DatabaseSync(':memory:');
  onTestFinished(() => own.close());
  return own;
}

describe.each(kinds)('%s', (_kind, make) => {
  const endings = [
    { state: 'completed', result: { reference: 'TXN-made' } },
    { state: 'not_sent' },
    { state: 'rejected' },
  ] as const;

  test.each(endings)('keeps a record in state $state for the retention, then drops it', async (ending) => {
    fakeClock();
    const journal = make({ retention: 90 * DAY });
    await journal.complete(await claimKey(journal, 'order-17'), ending);
    await pass(journal, 90 * DAY - 1);
    expect(await journal.read('order-17')).toMatchObject({ state: ending.state });
    await pass(journal, MARGIN);
    expect(await journal.read('order-17')).toBeNull();
    expect(await journal.claim('order-17', { ...chargeIntent, fingerprint: 'other' })).toMatchObject({
      state: 'claimed',
    });
  });

  test('keeps a resolved record for ever', async () => {
    fakeClock();
    const journal = make({ retention: DAY });
    await journal.complete(await claimKey(journal, 'order-17'), { state: 'unknown' });
    await pass(journal, 40 * DAY);
    expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
    await journal.resolve('order-17', { reference: 'TXN-found' }, note);
    await pass(journal, DAY);
    await pass(journal, MARGIN);
    expect(await journal.read('order-17')).toMatchObject({ state: 'completed', resolutions: [note] });
  });

  test('keeps everything without a retention', async () => {
    fakeClock();
    const journal = make({});
    await journal.complete(await claimKey(journal, 'order-17'), { state: 'rejected' });
    vi.advanceTimersByTime(36_500 * DAY);
    await pass(journal, 30 * DAY);
    expect(await journal.read('order-17')).toMatchObject({ state: 'rejected' });
  });

  test.each([0.2, 1e300, Number.MAX_SAFE_INTEGER])('accepts a retention of %d ms', async (retention) => {
    const journal = make({ retention });
    const claim = await claimKey(journal, 'order-17');
    expect(await journal.complete(claim, { state: 'rejected' })).toBe(true);
  });

  test('is in progress after a clock is set back, unknown after it is set ahead', async () => {
    fakeClock();
    const journal = make({});
    await claimKey(journal, 'order-17');
    jump(-DAY);
    expect(await journal.claim('order-17', chargeIntent)).toMatchObject({ state: 'in_progress' });
    jump(2 * DAY);
    expect(await journal.claim('order-17', chargeIntent)).toMatchObject({ state: 'unknown' });
    expect(await journal.read('order-17')).toMatchObject({ state: 'unknown', inProgress: false });
    await journal.resolve('order-17', 'not_charged', note);
    expect(await journal.claim('order-17', chargeIntent)).toMatchObject({ state: 'claimed' });
  });
});

test('SQLite deletes expired records in small steps, and no unresolved ones', async () => {
  fakeClock();
  const own = database();
  const journal = sqliteJournal(own, { retention: DAY });
  for (let index = 0; index < 100; index++) {
    await journal.complete(await claimKey(journal, `old ${index}`), { state: 'rejected' });
    await claimKey(journal, `left ${index}`);
  }
  const rows = (pattern: string) =>
    Object(own.prepare('SELECT count(*) AS count FROM payments_journal WHERE key LIKE ?').get(pattern)).count;
  for (let day = 0; day < 8; day++) {
    expect(rows('old %')).toBe(100);
    vi.advanceTimersByTime(DAY);
    await claimKey(journal, `new day ${day}`);
  }
  expect(rows('old %')).toBe(90);
  for (let index = 2; index < 20; index++) await claimKey(journal, `new ${index}`);
  expect(rows('old %')).toBe(0);
  expect(rows('left %')).toBe(100);
});

test('memory frees expired records, and keeps unresolved ones', async () => {
  fakeClock();
  const set = vi.spyOn(Map.prototype, 'set');
  const store = memoryStore();
  const journal = createJournal(store, { retention: DAY });
  await claimKey(journal, 'left');
  const records = set.mock.contexts.find((context) => context instanceof Map && context.has('left'));
  set.mockRestore();
  if (!(records instanceof Map)) throw new Error('no records');
  for (let index = 0; index < 100; index++)
    await journal.complete(await claimKey(journal, `old ${index}`), { state: 'rejected' });
  // One more holds the service of the journal.
  expect(records.size).toBe(102);
  vi.advanceTimersByTime(DAY);
  for (let index = 0; index < 100; index++) await claimKey(journal, `new ${index}`);
  expect(records.size).toBe(102);
  expect(await journal.read('left')).toMatchObject({ state: 'unknown' });
});

test.each([0, -1, Number.NaN, '5', null])('refuses a retention of %j', (retention) => {
  const options: object = { retention };
  expect(() => memoryJournal(options)).toThrow('retention must be milliseconds, more than 0.');
});

test.each([99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null])(
  'refuses a lease of %j',
  (lease) => {
    const options: object = { lease };
    expect(() => memoryJournal(options)).toThrow('lease must be milliseconds, at least 100 and under 2^31.');
  },
);
