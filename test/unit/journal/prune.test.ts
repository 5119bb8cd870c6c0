import { describe, expect, test } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import type { Completion, OrderMark } from '../../../src/journal/record.ts';
import { chargeIntent } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

/** Records an outcome under a key. */
async function record(journal: Journal, key: string, completion?: Completion, order?: OrderMark) {
  const core = getJournalCore(journal);
  const claimed = await core.claim(key, { ...chargeIntent, order });
  if (claimed.state !== 'claimed') throw new Error(`${key} is ${claimed.state}`);
  if (completion) await core.complete(claimed.claim, completion);
}

const paid = (reference: string): Completion => ({ state: 'completed', result: { reference } });

/** Records that the follow-up of a completed payment has ended. */
async function endFollowUp(journal: Journal, reference: string) {
  const { followUps } = getJournalCore(journal);
  for (const found of await followUps.find(reference))
    await followUps.update(found, { checks: 1, reported: [], ended: 'delivered' }, null);
}

/** A time after every record of a test. The clock might stand still for a millisecond. */
const soon = async () => {
  const now = Date.now();
  while (Date.now() <= now) await new Promise((resolve) => setTimeout(resolve, 1));
  return Date.now();
};

const readKeys = async (journal: Journal) => {
  const keys: string[] = [];
  for await (const { key } of journal.list()) keys.push(key);
  return keys.sort();
};

/** A journal with a key of each kind. */
async function fill() {
  const journal = memoryJournal();
  await record(journal, 'rejected', { state: 'rejected' });
  await record(journal, 'not sent', { state: 'not_sent' });
  await record(journal, 'followed', paid('TXN-1'));
  await endFollowUp(journal, 'TXN-1');
  await record(journal, 'completed', paid('TXN-2'));
  await record(journal, 'unknown', { state: 'unknown' });
  await record(journal, 'begun');
  for (const key of ['found', 'closed', 'freed', 'charged after all'])
    await record(journal, key, { state: 'unknown' });
  await journal.resolve('found', { reference: 'TXN-3' }, note);
  await endFollowUp(journal, 'TXN-3');
  await journal.resolve('closed', 'closed', note);
  await journal.resolve('freed', 'not_charged', note);
  await journal.resolve('charged after all', 'not_charged', note);
  await record(journal, 'charged after all', { state: 'rejected' });
  return journal;
}

const KEPT = ['begun', 'charged after all', 'closed', 'found', 'freed', 'unknown'];

describe('prune', () => {
  test('deletes what nothing is left to do for, and returns how much', async () => {
    const journal = await fill();
    expect(await journal.prune({ before: await soon() })).toBe(3);
    expect(await readKeys(journal)).toEqual([...KEPT, 'completed'].sort());
  });

  test('takes payments whose follow-up has not ended if it is told so', async () => {
    const journal = await fill();
    expect(await journal.prune({ before: new Date(await soon()), unfollowed: true })).toBe(4);
    expect(await readKeys(journal)).toEqual(KEPT);
  });

  test('keeps what was created at that time or later', async () => {
    const journal = memoryJournal();
    await record(journal, 'old', { state: 'rejected' });
    const before = await soon();
    await record(journal, 'new', { state: 'rejected' });
    expect(await journal.prune({ before })).toBe(1);
    expect(await readKeys(journal)).toEqual(['new']);
  });

  test('deletes more than a page', async () => {
    const journal = memoryJournal();
    for (let at = 0; at < 250; at++) await record(journal, `order-${at}`, { state: 'rejected' });
    expect(await journal.prune({ before: await soon() })).toBe(250);
    expect(await readKeys(journal)).toEqual([]);
  });

  test('deletes an order whole or not at all', async () => {
    const journal = memoryJournal();
    for (const [id, last] of [
      ['17', { state: 'rejected' }],
      ['18', { state: 'unknown' }],
    ] satisfies [string, Completion][]) {
      await record(journal, `${id}/1`, { state: 'rejected' }, { id, number: 1 });
      await record(journal, `${id}/2`, last, { id, number: 2 });
    }
    expect(await journal.prune({ before: await soon() })).toBe(2);
    expect(await readKeys(journal)).toEqual(['18/1', '18/2']);
  });

  test('keeps an order with a payment that began after that time', async () => {
    const journal = memoryJournal();
    await record(journal, '17/1', { state: 'rejected' }, { id: '17', number: 1 });
    const before = await soon();
    await record(journal, '17/2', { state: 'rejected' }, { id: '17', number: 2 });
    expect(await journal.prune({ before })).toBe(0);
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'prune takes { before }'],
    ['no time', {}, 'prune needs before'],
    ['text', { before: '2025-11-01' }, 'prune needs before'],
    ['NaN', { before: Number.NaN }, 'prune needs before'],
    ['an invalid date', { before: new Date('yesterday') }, 'prune needs before'],
    ['Infinity', { before: Number.POSITIVE_INFINITY }, 'prune needs before'],
    ['a time in the future', { before: Date.now() + 3_600_000 }, 'must not be in the future'],
    ['an unknown option', { before: 1, unfolowed: true }, 'unfolowed'],
    ['unfollowed as text', { before: 1, unfollowed: 'yes' }, 'unfollowed must be true or false'],
  ])('refuses %s, and deletes nothing', async (_what, options, message) => {
    const journal = await fill();
    const keys = await readKeys(journal);
    const failure = await catchError(Reflect.apply(journal.prune, journal, [options]));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toContain(message);
    expect(await readKeys(journal)).toEqual(keys);
  });

  test.each(['list', 'delete'] as const)('names the method that a store without %s has not', async (name) => {
    const journal = createJournal({ ...memoryStore(), [name]: undefined });
    const failure = await catchError(journal.prune({ before: 1 }));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toContain(`has no ${name}`);
  });

  test('rejects with a JournalError if the store fails', async () => {
    const store = memoryStore();
    const fail = () => Promise.reject(new Error('down'));
    const journal = createJournal({ ...store, delete: fail });
    await record(journal, 'old', { state: 'rejected' });
    expect(await catchError(journal.prune({ before: await soon() }))).toBeInstanceOf(JournalError);
  });
});
