import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Journal, memoryJournal } from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey, tryClaim } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';

const DAY = 24 * 60 * 60 * 1000;

const kinds: [string, () => Journal][] = [
  ['memory', () => memoryJournal()],
  [
    'SQLite',
    () => {
      const own = new DatabaseSync(':memory:');
      onTestFinished(() => own.close());
      return sqliteJournal(own);
    },
  ],
];

test.each(kinds)('takes a claim as unknown after the clock is set ahead: %s', async (_kind, make) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const journal = make();
  await claimKey(journal, 'order-17');
  expect(await tryClaim(journal, 'order-17')).toMatchObject({
    state: 'in_progress',
  });
  vi.setSystemTime(Date.now() + DAY);
  expect(await tryClaim(journal, 'order-17')).toMatchObject({ state: 'unknown' });
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown', inProgress: false });
  await journal.resolve('order-17', 'not_charged', note);
  expect(await tryClaim(journal, 'order-17')).toMatchObject({ state: 'claimed' });
});

describe('the lease', () => {
  test.each([99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null])(
    'cannot be %j',
    (lease) => {
      const options: object = { lease };
      expect(() => memoryJournal(options)).toThrow(
        'lease must be milliseconds, at least 100 and under 2^31.',
      );
    },
  );
});
