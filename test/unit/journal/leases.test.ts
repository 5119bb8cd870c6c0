import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Journal, type JournalOptions, memoryJournal } from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const DAY = 24 * 60 * 60 * 1000;

const kinds: [string, (options?: JournalOptions) => Journal][] = [
  ['memory', memoryJournal],
  [
    'SQLite',
    (options) => {
      const own = new DatabaseSync(':memory:');
      onTestFinished(() => own.close());
      return sqliteJournal(own, options);
    },
  ],
];

test.each(kinds)('takes a claim as unknown after the clock is set ahead: %s', async (_kind, make) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = make();
  await claimKey(journal, 'order-17');
  expect(await journal.read('order-17')).toMatchObject({ state: 'begun', inProgress: true });
  expect(await catchError(journal.resolve('order-17', 'not_charged', note))).toMatchObject({
    name: 'JournalError',
    retryable: true,
  });
  vi.setSystemTime(Date.now() + DAY);
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown', inProgress: false });
  expect(await catchError(claimKey(journal, 'order-17'))).toMatchObject({
    message: expect.stringContaining('cannot be claimed: replay'),
  });
  await journal.resolve('order-17', 'not_charged', note);
  await claimKey(journal, 'order-17');
});

test.each([99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null])(
  'the lease cannot be %j',
  (lease) => {
    const options: object = { lease };
    expect(() => memoryJournal(options)).toThrow('lease must be milliseconds, at least 100 and under 2^31.');
  },
);
