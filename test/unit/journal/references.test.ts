import { describe, expect, test } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import type { RecordName } from '../../../src/journal/names.ts';
import { claimReference, findOwner, releaseReferences } from '../../../src/journal/references.ts';
import { type AskedService, resolveKey } from '../../../src/journal/resolve.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { claimKey, completeClaim, completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite } from '../../helpers/store-writes.ts';

const key = (id: string): RecordName => ({ kind: 'key', id });
const unreadable = firstWrite({}, { text: '{"format":99}' });
const claim = (journal: Journal, id: string, reference: string) =>
  claimReference(getRecords(journal), key(id), reference);
const findId = async (journal: Journal, reference: string) =>
  (await findOwner(getRecords(journal), reference))?.id;

test('belongs to one key or order, which can claim it anew, in any case', async () => {
  const journal = memoryJournal();
  await completeKey(journal, '17', made('TXN-8f2k1'));
  expect(await claim(journal, '17', 'txn-8F2K1')).toBe(true);
  expect(await claim(journal, '18', 'TXN-8F2K1')).toBe(false);
  // An order can have the id that a key has.
  const order = { kind: 'order', id: '17' } as const;
  expect(await claimReference(getRecords(journal), order, 'TXN-8f2k1')).toBe(false);
  expect(await findOwner(getRecords(journal), 'TXN-8f2k1')).toEqual(key('17'));
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
});

test('is not taken over while its owner sends a request', async () => {
  const journal = memoryJournal();
  const claimed = await claimKey(journal, 'order-17');
  expect(await claim(journal, 'order-17', 'TXN-1')).toBe(true);
  // The process of order-17 has its response, and is about to record it.
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(false);
  await completeClaim(journal, claimed, { is: 'none', why: 'rejected' });
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(true);
});

test.each([
  ['the record of its owner is gone', undefined, true],
  ['that record does not hold it', 'made', true],
  ['that record cannot be read', 'key order-17', false],
  ['its claim cannot be read', 'reference txn-1', false],
] as const)('is taken over if %s: %s, %s', async (_why, what, isTaken) => {
  const store = memoryStore();
  const journal = memoryJournal({ store });
  if (what === 'made') await completeKey(journal, 'order-17', made('TXN-other'));
  else if (what) await store.write(what, unreadable);
  if (what !== 'reference txn-1') expect(await claim(journal, 'order-17', 'TXN-1')).toBe(true);
  expect(await claim(journal, 'order-18', 'TXN-1')).toBe(isTaken);
});

test('is released if its record does not hold it any more', async () => {
  const journal = memoryJournal();
  await completeKey(journal, 'order-17', made('TXN-held'));
  await claim(journal, 'order-17', 'TXN-void');
  await completeKey(journal, 'order-18', made('TXN-other'));
  const references = ['TXN-held', 'TXN-void', 'TXN-other', 'TXN-none'];
  const held = references.map((reference) => ({ name: key('order-17'), reference }));
  await releaseReferences(getRecords(journal), held);
  const owners = await Promise.all(references.map((reference) => findId(journal, reference)));
  expect(owners).toEqual(['order-17', undefined, 'order-18', undefined]);
});

describe('not_charged', () => {
  /** It knows each transaction. */
  const service: AskedService = {
    assertService() {},
    check: async () => ({ is: 'answered', status: 'processing', paid_at: null }),
  };

  test('is refused if the service confirms a reference that nobody has claimed', async () => {
    const journal = memoryJournal();
    const records = getRecords(journal);
    await completeKey(journal, 'k1', { is: 'unknown', reference: 'TXN-1' });
    // As a process leaves it that died after it wrote the reference and before it claimed it.
    const { record } = await records.readStored('reference txn-1');
    await records.delete([{ key: 'reference txn-1', version: record?.version ?? '' }]);
    await catchError(resolveKey(records, 'k1', 'not_charged', note, service));
    expect(await journal.read('k1')).toMatchObject({ state: 'unknown', reference: 'TXN-1' });
  });
});
