/** What must hold when the client and its journal run inside workerd. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { journalConformance } from '../../../src/developers/mock/index.ts';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { type RunningShop, startWorkerShop } from './worker-shop.ts';

/** Starts a service and the shop in workerd before the tests of a group, and stops them after it. */
export function useWorkerShop(): () => { readonly shop: RunningShop; readonly sandbox: Sandbox } {
  let sandbox: Sandbox | undefined;
  let shop: RunningShop | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
    shop = await startWorkerShop({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey });
  });
  afterAll(async () => {
    await shop?.stop();
    await sandbox?.close();
  });
  return () => {
    if (!shop || !sandbox) throw new Error('The shop is not running.');
    return { shop, sandbox };
  };
}

export function describeInsideWorkerd(place: 'd1' | 'object'): void {
  const use = useWorkerShop();

  test('charges, replays, and lists the key', async () => {
    const { shop, sandbox } = use();
    const first = await shop.charge(place, { key: 'order-1' });
    expect(first).toMatchObject({ result: 'completed', replayed: false });
    const again = await shop.charge(place, { key: 'order-1' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(sandbox.charges.map(({ reference }) => reference)).toEqual([first.reference]);
    expect(await shop.charge(place, { key: 'order-1', amount: '26.00' })).toMatchObject({
      result: 'conflict',
    });
    expect(await shop.run(place, 'list')).toMatchObject([
      { key: 'order-1', state: 'completed', reference: first.reference },
    ]);
  });

  test('follows a payment up until it is final', async () => {
    const { shop, sandbox } = use();
    const { reference = '' } = await shop.charge(place, { key: 'order-followed' });
    sandbox.approve(reference);
    await expect
      .poll(() => shop.run(place, 'sweep'), { interval: 200 })
      .toMatchObject({ finals: ['order-followed success'] });
  });

  test('charges once for 100 requests of one key', async () => {
    const { shop, sandbox } = use();
    const before = sandbox.charges.length;
    const calls = Array.from({ length: 100 }, () => shop.charge(place, { key: 'order-of-all' }));
    const results = await Promise.all(calls);
    expect(sandbox.charges.length - before).toBe(1);
    const reference = sandbox.charges.at(-1)?.reference;
    expect(results.filter((result) => result.reference === reference)).toHaveLength(100);
    expect(results.filter(({ replayed }) => replayed === false)).toHaveLength(1);
  });

  test('conforms', async () => {
    const cases = journalConformance(() => {
      throw new Error('The cases are run inside workerd.');
    });
    expect(await use().shop.run(place, 'conformance')).toEqual({ cases: cases.length, failed: [] });
  });
}
