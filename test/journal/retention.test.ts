import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createJournal, type Journal, type JournalOptions, memoryJournal } from '../../src/journal/index.ts';
import { memoryStore } from '../../src/journal/memory.ts';
import { sqliteJournal } from '../../src/journal/sqlite.ts';
import { attempt, begunClaim } from '../support/attempts.ts';

const DAY = 24 * 60 * 60 * 1000;

function fakeClock(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

const later = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

const kinds: [string, (options: JournalOptions) => Journal][] = [
  ['memory', memoryJournal],
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

  test.each(endings)(
    'a record that is $state is kept for the retention, and its key is new after it',
    async (ending) => {
      fakeClock();
      const journal = make({ retention: 90 * DAY });
      await journal.end(await begunClaim(journal, 'order-17'), ending);
      later(90 * DAY - 1);
      expect(await journal.read('order-17')).toMatchObject({ state: ending.state });
      later(1);
      expect(await journal.read('order-17')).toBeNull();
      expect(await journal.begin('order-17', { ...attempt, fingerprint: 'other' })).toMatchObject({
        state: 'begun',
      });
    },
  );

  test('a settled record is kept for the retention from when it was settled', async () => {
    fakeClock();
    const journal = make({ retention: DAY });
    await journal.end(await begunClaim(journal, 'order-17'), { state: 'unknown' });
    later(400 * DAY);
    expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
    await journal.resolve('order-17', { reference: 'TXN-found' });
    later(DAY - 1);
    expect(await journal.read('order-17')).toMatchObject({ state: 'completed' });
    later(1);
    expect(await journal.read('order-17')).toBeNull();
  });

  test('without a retention, everything is kept', async () => {
    fakeClock();
    const journal = make({});
    await journal.end(await begunClaim(journal, 'order-17'), { state: 'rejected' });
    later(36_500 * DAY);
    expect(await journal.read('order-17')).toMatchObject({ state: 'rejected' });
  });

  test.each([0.2, 1e300, Number.MAX_SAFE_INTEGER])('a retention of %d ms is one', async (retention) => {
    const journal = make({ retention });
    const claim = await begunClaim(journal, 'order-17');
    expect(await journal.end(claim, { state: 'rejected' })).toBe(true);
  });

  test('a clock that is set back leaves a charge in progress, and one that is set forward leaves it in doubt', async () => {
    fakeClock();
    const journal = make({});
    await begunClaim(journal, 'order-17');
    later(-DAY);
    expect(await journal.begin('order-17', attempt)).toMatchObject({ state: 'in_progress' });
    later(2 * DAY);
    expect(await journal.begin('order-17', attempt)).toMatchObject({ state: 'unknown' });
    await journal.resolve('order-17', 'not_charged');
    expect(await journal.begin('order-17', attempt)).toMatchObject({ state: 'begun' });
  });
});

test('SQLite deletes what was dropped, a little at a time, and nothing that is in doubt', async () => {
  fakeClock();
  const own = database();
  const journal = sqliteJournal(own, { retention: DAY });
  for (let index = 0; index < 100; index++) {
    await journal.end(await begunClaim(journal, `old ${index}`), { state: 'rejected' });
    await begunClaim(journal, `left ${index}`);
  }
  const rows = (pattern: string) =>
    Object(own.prepare('SELECT count(*) AS count FROM payments_journal WHERE key LIKE ?').get(pattern)).count;
  later(DAY);
  expect(rows('old %')).toBe(100);
  await begunClaim(journal, 'new 1');
  expect(rows('old %')).toBe(90);
  for (let index = 2; index < 20; index++) await begunClaim(journal, `new ${index}`);
  expect(rows('old %')).toBe(0);
  expect(rows('left %')).toBe(100);
});

test('memory gives back what was dropped, and keeps what is in doubt', async () => {
  fakeClock();
  const set = vi.spyOn(Map.prototype, 'set');
  const store = memoryStore();
  const journal = createJournal(store, { retention: DAY });
  await begunClaim(journal, 'left');
  const records = set.mock.contexts.find((context) => context instanceof Map && context.has('left'));
  set.mockRestore();
  if (!(records instanceof Map)) throw new Error('no records');
  for (let index = 0; index < 100; index++)
    await journal.end(await begunClaim(journal, `old ${index}`), { state: 'rejected' });
  // One more tells which service the journal belongs to.
  expect(records.size).toBe(102);
  later(DAY);
  for (let index = 0; index < 100; index++) await begunClaim(journal, `new ${index}`);
  expect(records.size).toBe(102);
  expect(await journal.read('left')).toMatchObject({ state: 'begun' });
});

test.each([0, -1, Number.NaN, '5', null])('a retention of %j is refused', (retention) => {
  const options: object = { retention };
  expect(() => memoryJournal(options)).toThrow('retention must be milliseconds, more than 0.');
});

test.each([99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null])(
  'a lease of %j is refused',
  (lease) => {
    const options: object = { lease };
    expect(() => memoryJournal(options)).toThrow('lease must be milliseconds, at least 100 and under 2^31.');
  },
);
