/** What a wait for an order does beside the checks of other processes, and when it has ended. */

import { expect, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { getReference, HOUR, MINUTE, momo, SECOND, slow, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { never } from '../idempotency/interrupted-calls.ts';
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

test('a wait without time returns what a slow journal has', async () => {
  const store = wrapStore(memoryStore(), async ({ method }, run) => {
    if (method === 'read') await sleep(SECOND / 2);
    return await run();
  });
  const { shop } = world({ store });
  await shop.orders.charge('17', momo);
  const waiting = shop.orders.wait('17', { timeout: 0 });
  await expect(waiting).resolves.toMatchObject({ state: 'processing' });
});

test('a wait rejects soon once the journal hangs', async () => {
  let isHung = false;
  const store = wrapStore(memoryStore(), ({ method }, run) =>
    isHung && method === 'read' ? never() : run(),
  );
  const { shop, clock } = world({ store });
  await shop.orders.charge('17', momo);
  const rejects = expect(shop.orders.wait('17')).rejects.toBeInstanceOf(JournalError);
  await clock.pass(SECOND);
  isHung = true;
  await rejects;
  expect(clock.now).toBeLessThanOrEqual(15 * SECOND);
});

test('a wait asks as often if the clock of the store is an hour behind', async () => {
  const counts: number[] = [];
  for (const behind of [0, HOUR]) {
    const store = memoryStore();
    const read: typeof store.read = async (key) => {
      const found = await store.read(key);
      return { ...found, now: found.now - behind };
    };
    const { shop, checks } = world({ store: { ...store, read } });
    await shop.orders.charge('17', momo);
    await shop.orders.wait('17', { timeout: MINUTE });
    counts.push(checks.length);
  }
  expect(counts[1]).toBe(counts[0]);
});
