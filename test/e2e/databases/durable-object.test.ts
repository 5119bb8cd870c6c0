import { describe, expect, test } from 'vitest';
import { postOrder, startDocumentedWorker } from './documented-worker.ts';
import { describeInsideWorkerd, useWorkerShop } from './inside-workerd.ts';
import { database } from './kinds/durable-object.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('durable-object', database);

describe('ctx.storage inside a Durable Object', () => describeInsideWorkerd('object'));

describe('a transaction of the merchant', () => {
  const use = useWorkerShop();

  test.each([
    'charge inside a transaction',
    'charge, and roll the transaction back',
    'charge inside a nested transaction',
    'charge inside a transaction that has written',
  ])('sends nothing: %s', async (action) => {
    const { shop, sandbox } = use();
    const before = sandbox.requests.length;
    expect(await shop.charge('object', { key: action }, action)).toMatchObject({
      result: 'not_sent',
      message: expect.stringContaining('inside a transaction'),
      retryable: true,
    });
    expect(sandbox.requests).toHaveLength(before);
    // The next call is not inside it, and finds no record.
    expect(await shop.charge('object', { key: action })).toMatchObject({
      result: 'completed',
      replayed: false,
    });
    expect(await shop.run('object', 'read', { key: action })).toMatchObject({ attempts: 1 });
  });

  test.each(['charge inside transactionSync', 'charge after a write', 'charge inside blockConcurrencyWhile'])(
    'charges, and the record stays: %s',
    async (action) => {
      const { shop } = use();
      const charged = await shop.charge('object', { key: action }, action);
      expect(charged).toMatchObject({ result: 'completed', replayed: false });
      expect(await shop.run('object', 'read', { key: action })).toMatchObject({
        state: 'completed',
        reference: charged.reference,
      });
      expect(await shop.run('object', 'orders')).not.toContainEqual({ key: 'rolled back' });
    },
  );

  test('reads a record inside a transaction', async () => {
    const { shop } = use();
    await shop.charge('object', { key: 'order-read' });
    expect(await shop.run('object', 'read inside a transaction', { key: 'order-read' })).toMatchObject({
      state: 'completed',
    });
  });

  test('charges all others while transactions come and go', async () => {
    const { shop, sandbox } = use();
    const before = sandbox.charges.length;
    const outsideActions = ['charge', 'charge after a write', 'charge inside blockConcurrencyWhile'];
    const other = 'wait inside a transaction, and roll it back';
    const refused = 'charge inside a transaction';
    const calls = Array.from({ length: 40 }, async (_, index) => {
      const [outside] = await Promise.all([
        shop.charge(
          'object',
          { key: `order-outside-${index}` },
          outsideActions[index % outsideActions.length],
        ),
        shop.run('object', other),
      ]);
      return outside;
    });
    const inside = Array.from({ length: 10 }, (_, index) =>
      shop.charge('object', { key: `order-inside-${index}` }, refused),
    );
    const results = await Promise.all(calls);
    expect(results.filter(({ result }) => result !== 'completed')).toEqual([]);
    for (const result of await Promise.all(inside))
      expect(result).toMatchObject({
        result: 'not_sent',
        message: expect.stringContaining('inside a transaction'),
      });
    expect(sandbox.charges.length - before).toBe(40);
    expect(await shop.run('object', 'orders')).not.toContainEqual({ key: 'rolled back' });
  });
});

test('charges once in the object of the page, and follows the payment up', async () => {
  const forward = `export default {
    fetch: (request, env) => env.CHECKOUTS.get(env.CHECKOUTS.idFromName('shop')).fetch(request),
  };`;
  const objects = { CHECKOUTS: { className: 'Checkout', useSQLite: true } };
  const { worker, sandbox } = await startDocumentedWorker('Durable Objects', objects, forward);
  const first = await postOrder(worker.url);
  const [charge] = sandbox.charges;
  expect(first).toEqual({ status: 200, body: { state: 'processing' } });
  expect(await postOrder(worker.url)).toEqual(first);
  expect(sandbox.charges).toHaveLength(1);
  sandbox.approve(charge?.reference ?? '');
  // A press checks a payment that is older than a second.
  const countChecks = () => sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  await expect.poll(countChecks, { interval: 500 }).toBeGreaterThan(countChecks());
  expect(await postOrder(worker.url)).toEqual({ status: 200, body: { state: 'paid' } });
});

describe('a Durable Object', () => {
  const use = useWorkerShop();

  test('follows payments up by its alarm', async () => {
    const { shop, sandbox } = use();
    const { reference = '' } = await shop.charge('object', { key: 'order-alarm' });
    await shop.run('object', 'set the alarm');
    sandbox.approve(reference);
    await expect.poll(() => shop.run('object', 'finals')).toEqual([{ payment: 'order-alarm success' }]);
  });

  test('says which classes have no SQL', async () => {
    await expect(use().shop.run('legacy', 'charge')).rejects.toThrow('new_sqlite_classes');
  });
});
