/** Sequences of events that once lost money. Each test has the one that was seen, and a variation of it. */

import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError, type PaymentsClientOptions } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { createConnectionRunner } from '../../../src/stores/sqlite/connection.ts';
import { createSqliteStore } from '../../../src/stores/sqlite/store.ts';
import { sleep } from '../../helpers/clock.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import {
  connectionRefused,
  DAY,
  getReference,
  MINUTE,
  momo,
  type Process,
  page,
  SECOND,
  sweepFor,
  world,
} from '../../helpers/world.ts';
import { type StoreStep, wrapStore } from '../../helpers/wrapped-store.ts';
import { another, beginnings, dearer, openReviewed, otherNumber } from './beginnings.ts';

/** Makes a service that takes the second charge for the first, and answers both with it, after these delays. */
function suppressSecond(delays: readonly number[]) {
  let posts = 0;
  let first: Promise<Response> | undefined;
  return world({
    // Each step takes 5 ms on its way, and 5 ms on its way back.
    store: wrapStore(memoryStore(), async (_, run) => {
      await sleep(5);
      const result = await run();
      await sleep(5);
      return result;
    }),
    async respond({ method }, handle) {
      if (method !== 'POST' || posts === 2) return undefined;
      const latency = delays[posts++] ?? 0;
      first ??= handle();
      const response = (await first).clone();
      await sleep(latency);
      return response;
    },
  });
}

describe('1: two orders get one transaction', () => {
  test('lets it pay one of two orders', async () => {
    const { shop, start, service, paid, attentions } = suppressSecond([SECOND, SECOND]);
    const worker = start();
    const pressed = await Promise.all([shop.orders.charge('A', momo), worker.orders.charge('B', momo)]);
    expect(pressed.map(({ state }) => state).sort()).toEqual(['in_review', 'processing']);
    const reference = service.charges[0]?.reference ?? '';
    service.approve(reference);
    await Promise.all([shop.orders.wait('A'), worker.orders.wait('B')]);
    await shop.orders.sweep();
    const statuses = [await shop.orders.read('A'), await shop.orders.read('B')];
    const [winner] = statuses.filter(({ state }) => state === 'paid');
    const [loser] = statuses.filter(({ state }) => state === 'in_review');
    expect(loser).toMatchObject({ reason: 'shared_reference', payment: { reference } });
    expect(paid).toMatchObject([{ order: winner?.order, payment: { reference } }]);
    expect(attentions).toMatchObject([{ order: loser?.order, reason: 'shared_reference' }]);

    const id = loser?.order ?? '';
    await shop.payments.resolve(`${id}/1`, 'closed', note);
    expect(await shop.orders.read(id)).toMatchObject({ state: 'unpaid', canPay: true });
    expect(await shop.orders.charge(id, momo)).toMatchObject({ state: 'processing' });
    expect(service.charges).toHaveLength(2);
  });

  test('lets it pay an order or a key', async () => {
    const { shop, start, service, posts, clock, journal } = suppressSecond([SECOND, 2 * SECOND]);
    const pressed = shop.orders.charge('A', momo);
    await clock.until(() => posts.length === 1);
    const plain = start().payments.chargeMobileMoney(momo, { idempotencyKey: 'plain' });
    const [order, failure] = await Promise.all([pressed, catchError(plain)]);
    const reference = service.charges[0]?.reference ?? '';
    expect(order).toMatchObject({ state: 'processing', payment: { reference } });
    expect(failure).toMatchObject({ code: 'outcome_unknown', nextStep: 'review', reference });
    expect(await journal.read('plain')).toMatchObject({ attention: 'shared_reference', reference });
  });
});

test.each(Object.entries(beginnings))(
  '3: prune takes no order that needs a person: %s',
  async (reason, begin) => {
    const { shop, attentions, clock, posts } = await openReviewed(begin);
    const { charge, read, sweep } = shop.orders;
    await sweep();
    expect(attentions.at(-1)).toMatchObject({ order: '17', reason });
    const before = await read('17');
    await clock.pass(30 * DAY);
    for (const unfollowed of [false, true])
      expect(await shop.journal.prune({ before: Date.now(), unfollowed })).toBe(0);
    expect(await read('17')).toEqual(before);
    posts.length = 0;
    expect(await charge('17', momo)).toMatchObject({ canPay: false });
    expect(posts).toEqual([]);
  },
);

test('4: a frozen process learns late of a charge, which is paid_twice beside another', async () => {
  const thawed = Promise.withResolvers<undefined>();
  let count = 0;
  const { shop, start, clock, posts, service, paid, attentions } = world({
    respond: ({ method }) => (method === 'POST' && ++count === 1 ? thawed.promise : undefined),
  });
  const first = start().orders.charge('17', momo);
  await clock.until(() => posts.length === 1);
  // No timer of the frozen process fires.
  clock.jump(20 * SECOND);
  expect(await shop.orders.read('17')).toMatchObject({ state: 'in_review', reason: 'unresolved' });
  await shop.payments.resolve('17/1', 'not_charged', note);
  const known = getReference(await shop.orders.charge('17', momo));
  thawed.resolve(undefined);
  const status = await first;
  const learned = service.charges[1]?.reference ?? '';
  expect(status).toMatchObject({
    ...{ state: 'processing', payment: { reference: known } },
    payments: [{ reference: known }, { reference: learned }],
  });
  service.approve(known);
  await sweepFor(MINUTE, shop.orders);
  service.approve(learned);
  await shop.orders.notify({ reference: learned });
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([{ payment: { reference: known } }]);
  expect(attentions).toMatchObject([{ reason: 'paid_twice', reference: learned }]);
});

test('4: a frozen process learns late of a charge that another order has', async () => {
  const thawed = Promise.withResolvers<void>();
  let count = 0;
  let suppressed: Promise<Response> | undefined;
  const { shop, start, clock, posts, service } = world({
    async respond({ method }, handle) {
      if (method !== 'POST') return undefined;
      if (++count === 1) await thawed.promise;
      suppressed ??= handle();
      return (await suppressed).clone();
    },
  });
  const first = start().orders.charge('A', momo);
  await clock.until(() => posts.length === 1);
  clock.jump(20 * SECOND);
  await shop.payments.resolve('A/1', 'not_charged', note);
  const reference = getReference(await shop.orders.charge('B', momo));
  thawed.resolve();
  const shared = { state: 'in_review', reason: 'shared_reference', payment: { reference } };
  expect(await first).toMatchObject(shared);
  service.approve(reference);
  expect(await shop.orders.wait('B')).toMatchObject({ state: 'paid', payment: { reference } });
  expect(await shop.orders.wait('A')).toMatchObject(shared);
});

test.each([
  ['is refused', () => Response.json({ message: 'no such number' }, { status: 422 })],
  ['is not sent', () => Promise.reject(connectionRefused)],
])('5: the payment under way is current again if another one %s', async (_, respond) => {
  let count = 0;
  const { shop, clock, service } = world({
    respond: ({ method }) => (method === 'POST' && ++count === 2 ? respond() : undefined),
  });
  const { charge, read } = shop.orders;
  await charge('17', momo);
  await clock.pass(2 * SECOND);
  const underWay = { state: 'processing', canPay: false, payment: { key: '17/1' } };
  const refused = await charge('17', otherNumber, another);
  expect(refused).toMatchObject({ ...underWay, differs: true, error: expect.any(Error) });
  expect(refused.payments[0]).not.toHaveProperty('superseded');
  expect(await read('17')).toMatchObject(underWay);
  const joined = await charge('17', momo);
  expect(joined).toMatchObject(underWay);
  expect(joined).not.toHaveProperty('differs');
  expect(service.charges).toHaveLength(1);
});

test.each([false, true])(
  '7: a person accepts an old price that was paid; its check got no answer: %s',
  async (isUnanswered) => {
    const { shop, service, clock, paid, attentions, posts } = world();
    const reference = getReference(await shop.orders.charge('17', momo));
    await clock.pass(2 * SECOND);
    if (isUnanswered) service.fault('verify', { kind: 'status', status: 503 });
    expect(await shop.orders.charge('17', dearer)).toMatchObject({ state: 'processing', differs: true });
    service.approve(reference);
    expect(await shop.orders.wait('17')).toMatchObject({ state: 'in_review', reason: 'price_changed' });
    await shop.orders.sweep();
    expect(paid).toEqual([]);
    expect(attentions).toMatchObject([{ key: '17/1', reason: 'price_changed' }]);
    await shop.payments.resolve('17/1', 'accepted', note);
    await shop.orders.sweep();
    expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1', amount: '25.50' } }]);
    expect(posts).toHaveLength(1);
  },
);

describe('8: a client of another service', () => {
  const calls: Record<string, (process: Process) => Promise<unknown>> = {
    charge: ({ orders }) => orders.charge('17', momo),
    another: ({ orders }) => orders.charge('17', otherNumber, another),
    invalid: ({ orders }) => orders.charge('17', { ...momo, amount: '0.10' }),
    checkout: ({ orders }) => orders.checkout('17', page),
    read: ({ orders }) => orders.read('17'),
    wait: ({ orders }) => orders.wait('17'),
    resolve: ({ payments }) => payments.resolve('17/1', 'closed', note),
  };

  test.each<PaymentsClientOptions>([
    { baseUrl: 'https://other.example/api/v1' },
    { apiKey: 'sk_live_4vK9qLm2Xw7RtZ' },
  ])('is refused before anything is read or written: %o', async (client) => {
    const { shop, start, store, requests, clock } = world();
    await shop.orders.charge('17', momo);
    await clock.pass(2 * SECOND);
    const { record } = await store.read('order 17');
    const other = start({ client });
    for (const [name, call] of Object.entries(calls))
      expect([name, await catchError(call(other))]).toEqual([name, expect.any(ConfigurationError)]);
    expect(requests).toHaveLength(1);
    expect((await store.read('order 17')).record).toEqual(record);
  });
});

describe('10: a payment succeeds after it failed', () => {
  /** The first card on a page failed, and the customer was asked to pay again. */
  async function failPage() {
    const made = world();
    const { shop, service, unpaid, clock } = made;
    const reference = getReference(await shop.orders.checkout('17', page));
    service.decline(reference);
    await clock.pass(10 * SECOND);
    await shop.orders.sweep();
    expect(unpaid).toHaveLength(1);
    expect(await shop.orders.read('17')).toMatchObject({ state: 'unpaid', canPay: true });
    await clock.pass(2 * SECOND);
    return { ...made, reference };
  }

  test('is seen after a webhook, whenever it comes', async () => {
    const { shop, service, reference, paid, clock } = await failPage();
    await clock.pass(20 * DAY);
    await shop.orders.sweep();
    service.approve(reference);
    await shop.orders.notify({ data: { reference } });
    await sweepFor(MINUTE, shop.orders);
    expect(paid).toMatchObject([{ payment: { reference } }]);
  });
});

test.each(
  [8, 60].flatMap((seconds) => [
    ['takes no write', seconds, ({ method }: StoreStep) => method === 'write'] as const,
    ['takes nothing', seconds, () => true] as const,
  ]),
)(
  '11: returns, tells and records a charge after which the journal %s for %i s',
  async (_, seconds, fails) => {
    let backAt = 0;
    const { shop, start, store, service, clock, paid } = world({
      async respond({ method }, handle) {
        if (method !== 'POST') return undefined;
        const response = await handle();
        backAt = Date.now() + seconds * SECOND;
        return response;
      },
    });
    const failing = wrapStore(store, async (step, run) => {
      if (Date.now() < backAt && fails(step)) throw new Error('the database is read-only');
      return await run();
    });
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    // What it prints without a logger.
    const web = start({ store: failing, client: { logger: undefined } });
    const status = await web.orders.charge('17', momo);
    expect(clock.now).toBeLessThan(15 * SECOND);
    const reference = service.charges[0]?.reference ?? '';
    expect(status).toMatchObject({ state: 'processing', canPay: false, payment: { key: '17/1', reference } });
    await clock.pass((seconds + 4) * SECOND);
    expect(await shop.orders.read('17')).toMatchObject({ state: 'processing', payment: { reference } });
    service.approve(reference);
    await shop.orders.sweep();
    expect(paid).toMatchObject([{ order: '17', payment: { reference } }]);
    expect(written.mock.calls).toEqual([[expect.stringMatching(`${reference}.*not recorded, key "17/1"`)]]);
  },
);

test('a transaction of the merchant that begins during a sweep takes no payment back that onPaid heard of', async () => {
  const database = new DatabaseSync(':memory:');
  const { shop, service, paid } = world({
    store: createSqliteStore(createConnectionRunner(database), 'payments_journal'),
    respond({ method }) {
      if (method === 'GET' && !database.isTransaction) database.exec('BEGIN');
      return undefined;
    },
  });
  service.approve(getReference(await shop.orders.charge('17', momo)));
  await sleep(MINUTE);
  expect(String(await catchError(shop.orders.sweep()))).toContain('inside a transaction');
  expect(paid).toEqual([]);
});
