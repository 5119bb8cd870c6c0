import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import type { RecordName } from '../../../src/journal/names.ts';
import { findOwner } from '../../../src/journal/references.ts';
import { check, type Finding } from '../../../src/ledger/check.ts';
import { listOwed } from '../../../src/ledger/order.ts';
import { tell } from '../../../src/ledger/tell.ts';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const DAY = 24 * 60 * 60 * 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-11-22T05:12:09Z') });
  return () => vi.useRealTimers();
});

/** Records what a check found of a transaction, and that the handlers were told of it. */
async function follow(journal: Journal, name: RecordName, reference: string, status = 'success') {
  const finding: Finding = { is: 'answered', status, paid_at: null };
  await getRecords(journal).change(name, (before, now) => {
    const checked = check(before, reference, finding, { askedAt: now, now, random: 0 });
    const calls = checked ? listOwed(checked, now) : [];
    return { record: calls.reduce(tell, checked) };
  });
}

/** A day passes, and what began before it is pruned. */
async function pruneAfterDay(journal: Journal, unfollowed?: boolean) {
  vi.setSystemTime(Date.now() + DAY);
  return await journal.prune({ before: new Date(), unfollowed });
}

/** A journal with a key of each kind. */
async function fill(journal = memoryJournal()) {
  const key = (id: string) => ({ kind: 'key', id }) as const;
  await completeKey(journal, 'rejected', { is: 'none', why: 'rejected' });
  await completeKey(journal, 'not sent', { is: 'none', why: 'not_sent' });
  for (const id of ['paid', 'declined', 'made', 'checked', 'untold'])
    await completeKey(journal, id, made(`TXN-${id}`));
  await follow(journal, key('paid'), 'TXN-paid');
  await follow(journal, key('declined'), 'TXN-declined', 'failed');
  await follow(journal, key('checked'), 'TXN-checked', 'processing');
  await getRecords(journal).change(key('untold'), (before, now) => ({
    record: check(
      before,
      'TXN-untold',
      { is: 'answered', status: 'success', paid_at: null },
      { askedAt: now, now, random: 0 },
    ),
  }));
  for (const id of ['unknown', 'closed', 'not charged']) await completeKey(journal, id, { is: 'unknown' });
  await journal.resolve('closed', 'closed', note);
  await journal.resolve('not charged', 'not_charged', note);
  await claimKey(journal, 'begun');
  return journal;
}

describe('prune', () => {
  test('deletes what nothing is left to do for, and returns how much', async () => {
    const journal = await fill();
    expect(await pruneAfterDay(journal)).toBe(5);
    // What ended without money is checked for 7 days, and what is owed is told first.
    expect((await listKeys(journal)).sort()).toEqual([
      'begun',
      'checked',
      'declined',
      'made',
      'unknown',
      'untold',
    ]);
  });

  test('takes what no follow-up has ended if it is told so', async () => {
    const journal = await fill();
    expect(await pruneAfterDay(journal, true)).toBe(8);
    // One that was checked and is still under way has a follow-up.
    expect((await listKeys(journal)).sort()).toEqual(['begun', 'checked', 'unknown']);
  });

  test('never takes what needs a person', async () => {
    const journal = memoryJournal();
    await completeKey(journal, 'other amount', {
      ...made('TXN-1'),
      is: 'made',
      result: { reference: 'TXN-1' },
      other: { amount: '1.00', currency: 'GHS' },
    });
    await completeKey(journal, 'shared', made('TXN-1'));
    await completeKey(journal, '17', made('TXN-2'), { kind: 'order' });
    await follow(journal, { kind: 'order', id: '17' }, 'TXN-2');
    for (let days = 0; days < 30; days++)
      expect(await pruneAfterDay(journal, days > 0)).toBe(days === 0 ? 1 : 0);
    expect(await listKeys(journal)).toEqual(['other amount', 'shared']);
  });

  test('releases the references of what it deletes', async () => {
    const journal = await fill();
    expect(await findOwner(getRecords(journal), 'TXN-paid')).toEqual({ kind: 'key', id: 'paid' });
    await pruneAfterDay(journal);
    expect(await findOwner(getRecords(journal), 'TXN-paid')).toBeUndefined();
    expect(await findOwner(getRecords(journal), 'TXN-made')).toEqual({ kind: 'key', id: 'made' });
  });

  test('deletes an order whole or not at all', async () => {
    const journal = memoryJournal();
    for (const id of ['17', '18']) {
      const order = { kind: 'order', id } as const;
      await completeKey(journal, id, made(`TXN-${id}-1`), order);
      await follow(journal, order, `TXN-${id}-1`, 'failed');
      vi.setSystemTime(Date.now() + 10 * DAY);
      await follow(journal, order, `TXN-${id}-1`, 'failed');
      await completeKey(journal, id, made(`TXN-${id}-2`), order);
    }
    await follow(journal, { kind: 'order', id: '17' }, 'TXN-17-2');
    expect(await listKeys(journal)).toEqual(['17/1', '17/2', '18/1', '18/2']);
    expect(await pruneAfterDay(journal)).toBe(1);
    expect(await listKeys(journal)).toEqual(['18/1', '18/2']);
  });

  test('keeps what began at that time or later, also the payment of an old order', async () => {
    const journal = memoryJournal();
    const rejected = { is: 'none', why: 'rejected' } as const;
    await completeKey(journal, 'old', rejected);
    await completeKey(journal, '17', rejected, { kind: 'order' });
    vi.setSystemTime(Date.now() + DAY);
    const before = Date.now();
    await completeKey(journal, '17', rejected, { kind: 'order' });
    await completeKey(journal, 'new', rejected);
    expect(await journal.prune({ before })).toBe(1);
    expect((await listKeys(journal)).sort()).toEqual(['17/1', 'new']);
  });

  test('leaves a record that was changed since it was listed', async () => {
    const store = memoryStore();
    const journal = memoryJournal({ store });
    await completeKey(journal, 'order-17', { is: 'none', why: 'rejected' });
    const racing = createJournal({
      ...store,
      async delete(unneeded) {
        await claimKey(journal, 'order-17');
        return (await store.delete?.(unneeded)) ?? 0;
      },
    });
    expect(await pruneAfterDay(racing)).toBe(0);
    expect(await journal.read('order-17')).toMatchObject({ state: 'begun' });
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'prune takes { before }'],
    ['no time', {}, 'prune needs before'],
    ['text', { before: '2025-11-01' }, 'prune needs before'],
    ['NaN', { before: Number.NaN }, 'prune needs before'],
    ['an invalid date', { before: new Date('yesterday') }, 'prune needs before'],
    ['Infinity', { before: Number.POSITIVE_INFINITY }, 'prune needs before'],
    ['a time in the future', { before: Date.parse('2026-11-22T06:00:00Z') }, 'must not be in the future'],
    ['an unknown option', { before: 1, unfolowed: true }, 'unfolowed'],
    ['unfollowed as text', { before: 1, unfollowed: 'yes' }, 'unfollowed must be true or false'],
  ])('refuses %s, and deletes nothing', async (_what, options, message) => {
    const journal = await fill();
    const keys = await listKeys(journal);
    const failure = await catchError(Reflect.apply(journal.prune, journal, [options]));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toContain(message);
    expect(await listKeys(journal)).toEqual(keys);
  });

  test.each(['list', 'delete'] as const)('names the method that a store without %s has not', async (name) => {
    const journal = createJournal({ ...memoryStore(), [name]: undefined });
    const failure = await catchError(journal.prune({ before: 1 }));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toContain(`has no ${name}`);
  });

  test('rejects with a JournalError if the store fails', async () => {
    const journal = createJournal({ ...memoryStore(), delete: () => Promise.reject(new Error('down')) });
    await completeKey(journal, 'old', { is: 'none', why: 'rejected' });
    expect(await catchError(pruneAfterDay(journal))).toBeInstanceOf(JournalError);
  });
});
