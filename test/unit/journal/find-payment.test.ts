import { expect, test } from 'vitest';
import { memoryJournal } from '../../../src/journal/index.ts';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

/** A journal with an order 17 of one payment, and with these keys. */
async function createShopJournal(...keys: string[]) {
  const journal = memoryJournal();
  await completeKey(journal, '17', made('TXN-order'), { kind: 'order' });
  for (const key of keys) await completeKey(journal, key, made(`TXN-${key}`));
  return journal;
}

test('finds a key by its name, and a payment by its order and number', async () => {
  const journal = await createShopJournal('order-18/1');
  expect(await journal.read('order-18/1')).toMatchObject({ reference: 'TXN-order-18/1' });
  expect(await journal.read('17/1')).toMatchObject({ key: '17/1', reference: 'TXN-order' });
  for (const name of ['17/2', '17/0', '17/01', 'order-18', '17/1/1', '/1', ''])
    expect(await journal.read(name)).toBeNull();
});

test('refuses a name that fits a key and a payment, and says how to name each', async () => {
  const journal = await createShopJournal();
  await completeKey(journal, '17/1', { is: 'unknown', reference: 'TXN-17/1' });
  for (const failure of [
    await catchError(journal.read('17/1')),
    await catchError(journal.resolve('17/1', 'closed', note)),
  ]) {
    expect(failure).toMatchObject({ name: 'JournalError' });
    expect(String(failure)).toContain('"17/1" fits two. Name it "order 17/1" or "key 17/1".');
  }
  expect(await journal.read('order 17/1')).toMatchObject({ reference: 'TXN-order' });
  expect(await journal.read('key 17/1')).toMatchObject({ reference: 'TXN-17/1' });
  await journal.resolve('key 17/1', 'closed', note);
  expect(await journal.read('key 17/1')).toMatchObject({ state: 'closed' });
  expect(await journal.read('order 17/1')).toMatchObject({ state: 'completed' });
});

test('refuses a name that fits a payment and another order', async () => {
  const journal = await createShopJournal();
  await claimKey(journal, '17/1', { kind: 'order' });
  expect(String(await catchError(journal.resolve('17/1', 'not_charged', note)))).toContain('fits two');
  expect(await journal.read('17/1/1')).toMatchObject({ state: 'begun' });
});

test('finds keys that look like such names', async () => {
  const journal = await createShopJournal('key 18', 'order 17/1');
  expect(await journal.read('key 18')).toMatchObject({ reference: 'TXN-key 18' });
  expect(String(await catchError(journal.read('order 17/1')))).toContain('fits two');
  expect(await journal.read('key order 17/1')).toMatchObject({ reference: 'TXN-order 17/1' });
  expect(await journal.read('17/1')).toMatchObject({ reference: 'TXN-order' });
});

test('names no payment by the order alone', async () => {
  const journal = await createShopJournal();
  expect(await journal.read('17')).toBeNull();
  const failure = await catchError(journal.resolve('17', 'closed', note));
  expect(String(failure)).toContain('This is an order: name one of its payments');
});
