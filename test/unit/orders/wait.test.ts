/** What a wait for an order does beside the checks of other processes, and when it has ended. */

import { expect, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { catchError } from '../../helpers/service.ts';
import { getReference, HOUR, MINUTE, momo, page, SECOND, slow, world } from '../../helpers/world.ts';
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

test('a wait returns what it is at its timeout, also while the journal hangs', async () => {
  let isHung = false;
  const store = wrapStore(memoryStore(), (_, run) => (isHung ? new Promise(() => {}) : run()));
  const { shop, clock } = world({ store });
  const underWay = { state: 'processing', payment: { key: '17/1' } };
  await shop.orders.charge('17', momo);
  expect(await shop.orders.wait('17', { timeout: 30 * SECOND })).toMatchObject(underWay);
  expect(clock.now).toBe(30 * SECOND);
  const waiting = shop.orders.wait('17', { timeout: 5 * SECOND });
  await clock.pass(SECOND);
  isHung = true;
  expect(await waiting).toMatchObject(underWay);
  expect(clock.now).toBeLessThan(40 * SECOND);
});

test('a wait rejects if the journal does not take in time that it is paid', async () => {
  let isAway = false;
  const store = wrapStore(memoryStore(), (_, run) =>
    isAway ? Promise.reject(new Error('the database is down')) : run(),
  );
  const { shop, service, clock } = world({ store });
  service.approve(getReference(await shop.orders.charge('17', momo)));
  const waiting = catchError(shop.orders.wait('17', { timeout: MINUTE }));
  await clock.pass(SECOND);
  isAway = true;
  expect(await waiting).toMatchObject({ code: 'journal_error' });
  expect(clock.now).toBeLessThan(MINUTE);
});

test('a wait polls at the same pace for a payment that began longer ago', async () => {
  const { shop, checks, clock } = world();
  await shop.orders.charge('17', momo);
  await clock.pass(5 * MINUTE);
  await shop.orders.wait('17', { timeout: MINUTE });
  // Every 15 s by then.
  expect(checks.length).toBeLessThan(7);
});

test('a wait ends for a person if the transaction has another amount', async () => {
  const { shop, service, paid } = world();
  service.approve(getReference(await shop.orders.charge('17', momo)));
  service.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, { times: Number.POSITIVE_INFINITY });
  const review = { state: 'in_review', reason: 'mismatch', payment: { key: '17/1' } };
  expect(await shop.orders.wait('17', { timeout: MINUTE })).toMatchObject(review);
  expect(paid).toEqual([]);
});

test('a wait polls at a pace if a payment that failed is not final for its order', async () => {
  const { shop, start, service, checks } = world({ client: { polling: { finalStatuses: ['success'] } } });
  service.decline(getReference(await shop.orders.charge('17', momo)));
  const status = await start().orders.wait('17', { timeout: MINUTE });
  expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1', status: 'failed' } });
  expect(checks.length).toBeLessThan(20);
});

test('a wait polls at a pace if a payment that is under way ends each check', async () => {
  const finalStatuses = ['success', 'failed', 'abandoned', 'processing', 'pending'] as const;
  const { shop, checks } = world({ client: { polling: { finalStatuses } } });
  await shop.orders.charge('17', momo);
  expect(await shop.orders.wait('17', { timeout: MINUTE })).toMatchObject({ state: 'processing' });
  expect(checks.length).toBeLessThan(20);
});

test('a wait polls at a pace while a webhook is ahead of the record of its charge', async () => {
  let isAway = false;
  const store = memoryStore();
  // The claim of the reference is written, and what came of the charge is not.
  const held = wrapStore(store, ({ method, key }, run) =>
    isAway && method === 'write' && key.startsWith('order')
      ? Promise.reject(new Error('the database is read-only'))
      : run(),
  );
  const { start, shop, service, checks, clock } = world({
    store,
    respond: ({ method }) => {
      isAway ||= method === 'POST';
      return undefined;
    },
  });
  const charging = start({ store: held }).orders.charge('17', momo);
  await clock.pass(SECOND);
  const [{ reference } = { reference: '' }] = service.charges;
  service.approve(reference);
  await shop.orders.notify({ reference });
  expect(await shop.orders.read('17')).toMatchObject({ state: 'processing', payment: { reference } });
  await shop.orders.wait('17', { timeout: 5 * SECOND });
  expect(checks.length).toBeLessThan(4);
  isAway = false;
  await charging;
});

test('a wait ends when another process records the end', async () => {
  const { shop, start, service, clock } = world();
  service.settleAfter('next', SECOND, 'success');
  await shop.orders.checkout('17', page);
  const waiting = shop.orders.wait('17', { timeout: 10 * MINUTE });
  await clock.pass(2 * SECOND);
  expect(await start().orders.charge('17', momo)).toMatchObject({ state: 'paid' });
  expect(await waiting).toMatchObject({ state: 'paid' });
  expect(clock.now).toBeLessThan(7 * SECOND);
});

test('a wait rejects with the reason of its signal', async () => {
  const { shop } = world();
  await shop.orders.charge('17', momo);
  const stop = new AbortController();
  const waiting = catchError(shop.orders.wait('17', { signal: stop.signal }));
  stop.abort('enough');
  expect(await waiting).toBe('enough');
});
