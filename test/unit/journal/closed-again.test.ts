import { beforeEach, expect, test, vi } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import { type Journal, memoryJournal } from '../../../src/journal/index.ts';
import { check } from '../../../src/ledger/check.ts';
import { completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';

const DAY = 24 * 60 * 60 * 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-11-22T05:12:09Z') });
  return () => vi.useRealTimers();
});

async function listReasons(journal: Journal) {
  const reasons: string[] = [];
  for await (const { reason } of journal.listAttention()) reasons.push(reason);
  return reasons;
}

test('a payment that is paid after it was closed leaves the list when closed again', async () => {
  const journal = memoryJournal();
  await completeKey(journal, 'k', made('TXN-1'));
  vi.setSystemTime(Date.now() + 8 * DAY);
  await journal.resolve('k', 'closed', note);
  expect(await listReasons(journal)).toEqual([]);
  const paid = { is: 'answered', status: 'success', paid_at: null } as const;
  await getRecords(journal).change({ kind: 'key', id: 'k' }, (before, now) => ({
    record: check(before, 'TXN-1', paid, { askedAt: now, now, random: 0 }),
  }));
  expect(await listReasons(journal)).toEqual(['price_changed']);
  await journal.resolve('k', 'closed', note);
  expect(await listReasons(journal)).toEqual([]);
});
