import { expect, test } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import type { RecordName } from '../../../src/journal/names.ts';
import { claimReference, findOwner, releaseReferences } from '../../../src/journal/references.ts';
import { change, claimKey, completeClaim, completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';

const key = (id: string): RecordName => ({ kind: 'key', id });

const claim = (journal: Journal, id: string, reference: string) =>
  claimReference(getRecords(journal), key(id), reference);

const findId = async (journal: Journal, reference: string) =>
  (await findOwner(getRecords(journal), reference))?.id;

test('claims a reference that nobody has, and its own one anew', async () => {
  const journal = memoryJournal();
  await completeKey(journal, 'order-17', made('TXN-8f2k1'));
  expect(await findId(journal, 'TXN-8f2k1')).toBe('order-17');
  expect(await claim(journal, 'order-17', 'TXN-8f2k1')).toBe(true);
  expect(await claim(journal, 'order-17', 'txn-8F2K1')).toBe(true);
  expect(await findId(journal, 'TXN-other')).toBeUndefined();
});

test('knows a claim of its own that a driver wrote twice', async () => {
  const store = memoryStore();
  const twice = createJournal({
    ...store,
    // Of the second write, which finds the version of the first.
    write: async (key, given) => (await store.write(key, given)) && !key.startsWith('reference '),
  });
  expect(await claim(twice, 'order-17', 'TXN-8f2k1')).toBe(true);
  expect(await findId(twice, 'TXN-8f2k1')).toBe('order-17');
});

test('refuses a reference that another key or order has, in any case', async () => {
  const journal = memoryJournal();
  await completeKey(journal, '17', made('TXN-8f2k1'));
  expect(await claim(journal, '18', 'TXN-8F2K1')).toBe(false);
  // An order can have the id that a key has.
  const order = { kind: 'order', id: '17' } as const;
  expect(await claimReference(getRecords(journal), order, 'TXN-8f2k1')).toBe(false);
  expect(await findOwner(getRecords(journal), 'TXN-8f2k1')).toEqual(key('17'));
});

test('refuses a reference while its owner sends a request', async () => {
  const journal = memoryJournal();
  const claimed = await claimKey(journal, 'order-17');
  expect(await claim(journal, 'order-17', 'TXN-1')).toBe(true);
  // The process of order-17 has its response, and is about to record it.
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(false);
  await completeClaim(journal, claimed, { is: 'none', why: 'rejected' });
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(true);
  expect(await findId(journal, 'TXN-1')).toBe('order-18');
});

test.each(['the record is gone', 'the record does not hold it'])('takes over a claim if %s', async (why) => {
  const journal = memoryJournal();
  if (why !== 'the record is gone') await completeKey(journal, 'order-17', made('TXN-other'));
  expect(await claim(journal, 'order-17', 'TXN-1')).toBe(true);
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(true);
  expect(await findId(journal, 'TXN-1')).toBe('order-18');
});

test('keeps the claim of a record that cannot be read', async () => {
  const store = memoryStore();
  const journal = memoryJournal({ store });
  await store.write('key order-17', { ...change, text: '{"format":99}' });
  expect(await claim(journal, 'order-17', 'TXN-1')).toBe(true);
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(false);
});

test('keeps a claim that cannot be read', async () => {
  const store = memoryStore();
  await store.write('reference txn-1', { ...change, index: null, text: '{"format":99}' });
  expect(await claim(memoryJournal({ store }), 'order-17', 'TXN-1')).toBe(false);
});

test('only one of two orders gets a reference that both claim at once', async () => {
  const journal = memoryJournal();
  const ids = ['order-17', 'order-18', 'order-19'];
  for (const id of ids) await claimKey(journal, id);
  const claims = await Promise.all(ids.map((id) => claim(journal, id, 'TXN-1')));
  expect(claims.filter(Boolean)).toHaveLength(1);
});

test('releases the claims that a record does not hold any more', async () => {
  const journal = memoryJournal();
  const records = getRecords(journal);
  await completeKey(journal, 'order-17', made('TXN-held'));
  await claim(journal, 'order-17', 'TXN-void');
  await completeKey(journal, 'order-18', made('TXN-other'));
  const name = key('order-17');
  const references = ['TXN-held', 'TXN-void', 'TXN-other', 'TXN-none'];
  await releaseReferences(
    records,
    references.map((reference) => ({ name, reference })),
  );
  const owners = ['TXN-held', 'TXN-void', 'TXN-other'].map((reference) => findId(journal, reference));
  expect(await Promise.all(owners)).toEqual(['order-17', undefined, 'order-18']);
});

test('leaves a key unresolved if its transaction is that of another one', async () => {
  const journal = memoryJournal();
  await completeKey(journal, 'order-17', made('TXN-1'));
  await completeKey(journal, 'order-18', made('txn-1'));
  expect(await journal.read('order-18')).toMatchObject({
    state: 'unknown',
    attention: 'shared_reference',
    reference: 'txn-1',
  });
  // A person who looks into it can free the reference.
  await journal.resolve('order-17', 'not_charged', note).catch(() => {});
  expect(await journal.read('order-17')).toMatchObject({ state: 'completed', reference: 'TXN-1' });
});
