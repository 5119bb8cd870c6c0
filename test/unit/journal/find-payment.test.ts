import { expect, test } from 'vitest';
import { memoryJournal } from '../../../src/stores/index.ts';
import { completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

/** A journal with an order 17 of one payment, `TXN-order`, and with these keys. */
async function createShopJournal(...keys: string[]) {
  const journal = memoryJournal();
  await completeKey(journal, '17', made('TXN-order'), { kind: 'order' });
  for (const key of keys) await completeKey(journal, key, made(`TXN-${key}`));
  return journal;
}

test.each<[keys: string[], found: Record<string, string | null>]>([
  [
    ['order-18/1'],
    {
      'order-18/1': 'TXN-order-18/1',
      '17/1': 'TXN-order',
      ...Object.fromEntries(
        ['17', '17/2', '17/0', '17/01', 'order-18', '17/1/1', '/1', ''].map((name) => [name, null]),
      ),
    },
  ],
  [['17/1'], { '17/1': 'two', 'order 17/1': 'TXN-order', 'key 17/1': 'TXN-17/1' }],
  [
    ['key 18', 'order 17/1'],
    {
      'key 18': 'TXN-key 18',
      'order 17/1': 'two',
      'key order 17/1': 'TXN-order 17/1',
      '17/1': 'TXN-order',
    },
  ],
])('finds a key by its name, and a payment by its order and number: %j', async (keys, found) => {
  const journal = await createShopJournal(...keys);
  for (const [name, reference] of Object.entries(found))
    if (reference === 'two')
      expect(String(await catchError(journal.read(name)))).toContain(`"${name}" fits two.`);
    else expect((await journal.read(name))?.reference ?? null, name).toBe(reference);
});

test('resolves what one name names, and says how to name each of two', async () => {
  const journal = await createShopJournal();
  await completeKey(journal, '17/1', { is: 'unknown', reference: 'TXN-17/1' });
  const failure = await catchError(journal.resolve('17/1', 'closed', note));
  expect(failure).toMatchObject({ name: 'JournalError' });
  expect(String(failure)).toContain('"17/1" fits two. Name it "order 17/1" or "key 17/1".');
  await journal.resolve('key 17/1', 'closed', note);
  expect(await journal.read('key 17/1')).toMatchObject({ state: 'closed' });
  expect(await journal.read('order 17/1')).toMatchObject({ state: 'completed' });
  expect(String(await catchError(journal.resolve('17', 'closed', note)))).toContain(
    'This is an order: name one of its payments',
  );
});

test('finds and resolves a payment that has the name of another order', async () => {
  const journal = await createShopJournal();
  await completeKey(journal, '17/1', { is: 'unknown', reference: 'TXN-17/1' }, { kind: 'order' });
  const own = { order: '17', reference: 'TXN-order' };
  await expect(journal.read('order 17/1')).resolves.toMatchObject(own);
  expect(await journal.read('17/1/1')).toMatchObject({ order: '17/1', state: 'unknown' });
  // A person who means the other order must not decide about this payment.
  const failure = await catchError(journal.resolve('17/1', 'closed', note));
  expect(String(failure)).toContain('"17/1" fits two. Name it "order 17/1/1" or "order 17/1".');
  await journal.resolve('order 17/1/1', 'closed', note);
  expect(await journal.read('17/1/1')).toMatchObject({ state: 'closed' });
});
