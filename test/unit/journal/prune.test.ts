import { beforeEach, expect, test, vi } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import type { RecordName } from '../../../src/journal/names.ts';
import { findOwner } from '../../../src/journal/references.ts';
import { check } from '../../../src/ledger/check.ts';
import { listOwed } from '../../../src/ledger/order.ts';
import { tell } from '../../../src/ledger/tell.ts';
import {
  createJournal,
  type Journal,
  type JournalStore,
  memoryJournal,
  memoryStore,
} from '../../../src/stores/index.ts';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const DAY = 24 * 60 * 60 * 1000;
const rejected = { is: 'none', why: 'rejected' } as const;
const toKey = (id: string): RecordName => ({ kind: 'key', id });
const toOrder = (id: string) => ({ kind: 'order', id }) as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-11-22T05:12:09Z') });
  return () => vi.useRealTimers();
});

/** Records what a check found of a transaction, and, unless nobody was, that the handlers were told of it. */
async function follow(
  journal: Journal,
  name: RecordName,
  reference: string,
  status = 'success',
  isTold = true,
) {
  await getRecords(journal).change(name, (before, now) => {
    const finding = { is: 'answered', status, paid_at: null } as const;
    const checked = check(before, reference, finding, { askedAt: now, now, random: 0 });
    return { record: (checked && isTold ? listOwed(checked, now) : []).reduce(tell, checked) };
  });
}

/** A day passes, and what began before it is pruned. */
async function pruneAfterDay(journal: Journal, unfollowed?: boolean) {
  vi.setSystemTime(Date.now() + DAY);
  return await journal.prune({ before: new Date(), unfollowed });
}

/** A journal with a key of each kind. */
async function fill() {
  const journal = memoryJournal();
  await completeKey(journal, 'rejected', rejected);
  await completeKey(journal, 'not sent', { is: 'none', why: 'not_sent' });
  for (const id of ['paid', 'declined', 'made', 'checked', 'untold'])
    await completeKey(journal, id, made(`TXN-${id}`));
  await follow(journal, toKey('paid'), 'TXN-paid');
  await follow(journal, toKey('declined'), 'TXN-declined', 'failed');
  await follow(journal, toKey('checked'), 'TXN-checked', 'processing');
  await follow(journal, toKey('untold'), 'TXN-untold', 'success', false);
  for (const id of ['unknown', 'closed', 'not charged']) await completeKey(journal, id, { is: 'unknown' });
  await journal.resolve('closed', 'closed', note);
  await journal.resolve('not charged', 'not_charged', note);
  await claimKey(journal, 'begun');
  return journal;
}

test.each([
  // What ended without money is checked for 7 days, and what is owed is told first.
  [undefined, 5, ['begun', 'checked', 'declined', 'made', 'unknown', 'untold']],
  // One that was checked and is still under way has a follow-up.
  [true, 8, ['begun', 'checked', 'unknown']],
])(
  'deletes what nothing is left to do for, and its claims: unfollowed %s',
  async (unfollowed, pruned, left) => {
    const journal = await fill();
    expect(await findOwner(getRecords(journal), 'TXN-paid')).toEqual(toKey('paid'));
    expect(await pruneAfterDay(journal, unfollowed)).toBe(pruned);
    expect((await listKeys(journal)).toSorted()).toEqual(left);
    expect(await findOwner(getRecords(journal), 'TXN-paid')).toBeUndefined();
    expect(await findOwner(getRecords(journal), 'TXN-checked')).toEqual(toKey('checked'));
  },
);

test('deletes an order whole or not at all, by its latest payment', async () => {
  const journal = memoryJournal();
  await completeKey(journal, '19', rejected, toOrder('19'));
  for (const id of ['17', '18']) {
    await completeKey(journal, id, made(`TXN-${id}-1`), toOrder(id));
    for (const later of [0, 10 * DAY]) {
      vi.setSystemTime(Date.now() + later);
      await follow(journal, toOrder(id), `TXN-${id}-1`, 'failed');
    }
    await completeKey(journal, id, made(`TXN-${id}-2`), toOrder(id));
  }
  await follow(journal, toOrder('17'), 'TXN-17-2');
  vi.setSystemTime(Date.now() + DAY);
  const before = Date.now();
  await completeKey(journal, '19', rejected, toOrder('19'));
  await completeKey(journal, 'new', rejected);
  expect(await journal.prune({ before })).toBe(1);
  expect((await listKeys(journal)).toSorted()).toEqual(['18/1', '18/2', '19/1', 'new']);
});

test.each(['closed', 'not_charged'] as const)(
  'leaves no claim of a transaction that an error named, of a key that was %s',
  async (decision) => {
    const journal = memoryJournal();
    const records = getRecords(journal);
    await completeKey(journal, 'order-17', { is: 'unknown', reference: 'TXN-seen' });
    expect(await findOwner(records, 'TXN-seen')).toEqual(toKey('order-17'));
    await journal.resolve('order-17', decision, note);
    expect(await pruneAfterDay(journal)).toBe(1);
    expect(await findOwner(records, 'TXN-seen')).toBeUndefined();
  },
);

test('leaves a record that was changed since it was listed, and fails if the store does', async () => {
  const store = memoryStore();
  const journal = memoryJournal({ store });
  await completeKey(journal, 'order-17', rejected);
  const failing = createJournal({ ...store, delete: () => Promise.reject(new Error('down')) });
  expect(await catchError(pruneAfterDay(failing))).toBeInstanceOf(JournalError);
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

test('refuses a time that is past only by the clock of a host, ahead of the store, and deletes nothing', async () => {
  const store = memoryStore();
  const ahead = 30 * DAY;
  const read: JournalStore['read'] = async (key) => ({ ...(await store.read(key)), now: Date.now() - ahead });
  const journal = createJournal({ ...store, read });
  await completeKey(journal, 'paid', made('TXN-1'));
  await follow(journal, toKey('paid'), 'TXN-1');
  const failure = await catchError(journal.prune({ before: Date.now() - DAY }));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(String(failure)).toContain("by the clock of the journal's store");
  expect(await listKeys(journal)).toEqual(['paid']);
});
