/** What a wait for an order does beside the checks of other processes, and when it has ended. */

import { expect, test } from 'vitest';
import { memoryStore } from '../../../src/stores/index.ts';
import { getReference, MINUTE, momo, SECOND, slow, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { another, otherNumber } from './beginnings.ts';

test('a wait that has ended reads the journal no more', async () => {
  const steps: string[] = [];
  const store = wrapStore(memoryStore(), ({ method, key }, run) => {
    steps.push(`${method} ${key}`);
    return run();
  });
  const { shop, clock } = world({ store });
  await shop.orders.charge('17', momo);
  expect(await shop.orders.wait('17', { timeout: 10 * SECOND })).toMatchObject({ state: 'processing' });
  steps.length = 0;
  await clock.pass(MINUTE);
  expect(steps).toEqual([]);
});

test('a wait goes on with the payment that takes the place of its own', async () => {
  const { shop, start, service, clock } = world();
  await shop.orders.charge('17', momo);
  const waiting = shop.orders.wait('17', { timeout: MINUTE });
  await clock.pass(5 * SECOND);
  service.approve(getReference(await start().orders.charge('17', otherNumber, another)));
  expect(await waiting).toMatchObject({ state: 'paid', payment: { key: '17/2' } });
});

test('a notification that comes while a wait asks is heeded after what that finds', async () => {
  const { shop, start, service, clock, checks } = world({ respond: slow('GET', 5 * SECOND) });
  const reference = getReference(await shop.orders.charge('17', momo));
  service.fault('verify', { kind: 'wrongAmount', amount: '20.00' });
  service.approve(reference);
  const waiting = shop.orders.wait('17');
  await clock.until(() => checks.length === 1);
  await clock.pass(2 * SECOND);
  await start().orders.notify({ reference });
  expect(await waiting).toMatchObject({ state: 'in_review', reason: 'mismatch' });
  await shop.orders.sweep();
  expect(await shop.orders.read('17')).toMatchObject({ state: 'paid' });
});
