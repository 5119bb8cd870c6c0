import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { type RunningShop, startShop } from './worker-shop.ts';

let sandbox: Sandbox;
let shop: RunningShop;
beforeAll(async () => {
  sandbox = await startSandbox();
  shop = await startShop({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey });
});
afterAll(async () => {
  await shop?.stop();
  await sandbox?.close();
});

const places = ['d1', 'object'] as const;

describe.each(places)('the client inside workerd: %s', (place) => {
  test('charges once for 100 requests at the same time', async () => {
    const before = sandbox.charges.length;
    const results = await Promise.all(
      Array.from({ length: 100 }, () => shop.charge(place, { key: `hundred-${place}` })),
    );
    console.log(JSON.stringify(results.filter((r) => r.result !== 'completed').slice(0, 3)));
    expect(results.filter(({ result }) => result === 'completed')).toHaveLength(100);
    expect(results.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(sandbox.charges.length - before).toBe(1);
  });
  test('sweep', async () => {
    const { reference } = await shop.charge(place, { key: `sweep-${place}` });
    sandbox.approve(reference ?? '');
    console.log(
      JSON.stringify(await shop.run(place, 'sweep')),
      JSON.stringify(await shop.run(place, 'list')),
    );
  });
});
test.each([
  'charge inside a transaction',
  'charge, and roll the transaction back',
  'charge inside a nested transaction',
  'charge inside a transaction that has written',
  'charge inside transactionSync',
  'charge after a write',
  'charge inside blockConcurrencyWhile',
])('%s', async (action) => {
  const t = performance.now();
  console.log(
    action,
    JSON.stringify(await shop.charge('object', { key: action }, action)),
    performance.now() - t,
  );
  console.log(
    JSON.stringify(await shop.run('object', 'read', { key: action })),
    JSON.stringify(await shop.run('object', 'orders')),
  );
});
test('other', async () => {
  console.log(await shop.run('d1', 'session').catch(String), await shop.run('legacy', 'x').catch(String));
  console.log(JSON.stringify(await shop.run('object', 'read inside a transaction', { key: 'sweep-object' })));
  await shop.run('object', 'set the alarm');
  await new Promise((r) => setTimeout(r, 1500));
  console.log(JSON.stringify(await shop.run('object', 'finals')));
});
