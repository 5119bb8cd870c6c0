/** Each status of an order with what a call can add to it: `error`, `differs`. Those of a person are in breaks.test.ts. */

import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  ClosedError,
  ConnectionError,
  InvalidInputError,
  type Journal,
  JournalError,
  RateLimitError,
  ServerError,
} from '../../../src/index.ts';
import { createJournal, memoryStore } from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { NoJournalError } from '../../../src/journal/store.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, silentLogger } from '../../helpers/follow-ups.ts';
import { connectionRefused, momo, openOrderShop, page, postsOf } from '../../helpers/order-shop.ts';
import { catchError, EMAIL, successBodies } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const invalid = { ...momo, amount: '0.10' };

describe('before the first charge', () => {
  /** A file that has no table yet. */
  const openFile = (): Journal => {
    const database = new DatabaseSync(':memory:');
    onTestFinished(() => database.close());
    return sqliteJournal(database);
  };

  test.each([
    ['SQLite', openFile],
    ['memory', () => createJournal(memoryStore())],
  ])('is unpaid for read and wait: %s', async (_, openJournal) => {
    const journal = openJournal();
    const { read, wait, charge } = openOrderShop().start({ journal }, { journal });
    const unpaid = { order: '17', state: 'unpaid', canPay: true, payments: [] };
    expect(await finish(read('17'))).toEqual(unpaid);
    expect(await finish(wait('17'))).toEqual(unpaid);
    expect(await finish(charge('17', momo))).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
  });

  test('is a JournalError if the journal does not make its tables', async () => {
    const read = () => Promise.reject(new NoJournalError('Call migrate().'));
    const shop = openOrderShop({ store: { ...memoryStore(), read } });
    const orders = shop.start();
    for (const call of [() => orders.read('17'), () => orders.wait('17'), () => orders.charge('17', momo)])
      expect(await finish(catchError(call()))).toBeInstanceOf(JournalError);
    expect(postsOf(shop)).toEqual([]);
  });
});

/** A response of the service instead of its own. */
type Respond = () => Promise<Response>;
const respondWith =
  (status: number): Respond =>
  async () =>
    Response.json({}, { status });

/** Opens a shop whose service responds to one method in its own way once `respond` is set. */
function openBreakingShop(method: 'GET' | 'POST') {
  const breaking: { respond?: Respond } = {};
  const shop = openOrderShop({
    intercept: async (request) => (request.method === method ? await breaking.respond?.() : undefined),
  });
  return { shop, breaking, orders: shop.start() };
}

describe('unpaid', () => {
  test.each<[string, Respond, { new (...values: never): Error }]>([
    ['a limit of rate', respondWith(429), RateLimitError],
    ['no connection', () => Promise.reject(connectionRefused), ConnectionError],
  ])('has the error of %s, and the customer can pay', async (_, respond, kind) => {
    const { breaking, orders } = openBreakingShop('POST');
    breaking.respond = respond;
    const unpaid = { state: 'unpaid', canPay: true, error: expect.any(kind) };
    expect(await finish(orders.charge('17', momo))).toMatchObject(unpaid);
    expect(await finish(orders.read('17'))).not.toHaveProperty('error');
  });

  test('has the error of a closed client', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    await orders.payments.close();
    const unpaid = { state: 'unpaid', canPay: true, error: expect.any(ClosedError) };
    expect(await finish(orders.charge('17', momo))).toMatchObject(unpaid);
    expect(shop.requests).toEqual([]);
  });
});

describe('processing', () => {
  /** A payment is under way, and its last check is 2 s ago. */
  async function beginPayment(method: 'GET' | 'POST' = 'GET') {
    const opened = openBreakingShop(method);
    await finish(opened.orders.charge('17', momo));
    await pass(2 * SECOND);
    return opened;
  }
  const underWay = { state: 'processing', canPay: false, payment: { key: '17/1' } };

  test('differs with an error for invalid input, and sends nothing', async () => {
    const { shop, orders } = await beginPayment();
    shop.requests.length = 0;
    for (const startAnother of [false, true]) {
      const status = await finish(orders.charge('17', invalid, { startAnother }));
      expect(status).toMatchObject({ ...underWay, differs: true, error: expect.any(InvalidInputError) });
    }
    expect(shop.requests).toEqual([]);
  });

  test('has the error of a closed client', async () => {
    const { shop, orders } = await beginPayment();
    await orders.payments.close();
    const status = await finish(orders.charge('17', momo));
    expect(status).toMatchObject({ ...underWay, error: expect.any(ClosedError) });
    expect(status).not.toHaveProperty('differs');
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('has no error if the check of what was asked for gets no answer', async () => {
    const { breaking, orders } = await beginPayment();
    breaking.respond = respondWith(503);
    const status = await finish(orders.charge('17', momo));
    expect(status).toMatchObject(underWay);
    expect(status).not.toHaveProperty('error');
    expect(status).not.toHaveProperty('differs');
  });

  test('differs with an error if the check of something else gets no answer', async () => {
    const { shop, breaking, orders } = await beginPayment();
    breaking.respond = respondWith(503);
    for (const startAnother of [false, true]) {
      const status = await finish(orders.checkout('17', page, { startAnother }));
      expect(status).toMatchObject({ ...underWay, differs: true, error: expect.any(ServerError) });
    }
    expect(postsOf(shop)).toHaveLength(1);
  });
});

test('has no error for invalid input once the order is paid or in review', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  await finish(orders.charge('paid', momo));
  shop.service.approve(shop.service.charges[0]?.reference ?? '');
  await pass(10 * SECOND);
  await finish(orders.wait('paid'));
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await finish(orders.charge('in_review', momo));
  for (const state of ['paid', 'in_review']) {
    const status = await finish(orders.charge(state, invalid));
    expect(status).toMatchObject({ state, canPay: false });
    expect(status).not.toHaveProperty('error');
    expect(status).not.toHaveProperty('differs');
  }
});

describe('a page whose address holds the email of the customer', () => {
  const openLeakingShop = () =>
    openOrderShop({
      async intercept({ method }, handle) {
        if (method !== 'POST') return undefined;
        const { data } = await (await handle()).json();
        const checkout_url = `${data.checkout_url}?email=${EMAIL}`;
        await new Promise((resolve) => setTimeout(resolve, SECOND));
        return Response.json(successBodies.initialize({ ...data, checkout_url }));
      },
    });
  const address = expect.stringContaining(EMAIL);

  test('is returned once, is not recorded, and is not joined', async () => {
    const shop = openLeakingShop();
    const orders = shop.start();
    expect(await finish(orders.checkout('17', page))).toMatchObject({
      state: 'processing',
      payment: { key: '17/1', checkout_url: address },
      payments: [{ checkout_url: address }],
    });
    expect(JSON.stringify(await shop.store.read('order 17'))).not.toContain(EMAIL);
    await pass(2 * SECOND);
    const second = await finish(orders.checkout('17', page));
    expect(second).toMatchObject({ state: 'processing', differs: true, payment: { key: '17/1' } });
    expect(second).not.toHaveProperty('payment.checkout_url');
    const another = await finish(orders.checkout('17', page, { startAnother: true }));
    expect(another).toMatchObject({ payment: { key: '17/2', checkout_url: address } });
    expect(postsOf(shop)).toHaveLength(2);
  });

  test('is returned to the press that opened it alone', async () => {
    const shop = openLeakingShop();
    const presses = [shop.start(), shop.start()].map(({ checkout }) => checkout('17', page));
    const statuses = await finish(Promise.all(presses));
    const [opened] = statuses.filter((status) => !('differs' in status));
    const [other] = statuses.filter((status) => status !== opened);
    expect(opened).toMatchObject({ payment: { key: '17/1', checkout_url: address } });
    expect(other).toMatchObject({ state: 'processing', differs: true, payment: { key: '17/1' } });
    expect(postsOf(shop)).toHaveLength(1);
  });
});

test('has no page of another payment', async () => {
  const answered = Promise.withResolvers<void>();
  const shop = openOrderShop({
    async intercept({ url }) {
      if (url.endsWith('/initialize')) await answered.promise;
      return undefined;
    },
  });
  const orders = shop.start();
  const opening = orders.checkout('17', page);
  await pass(SECOND);
  const pressed = await finish(orders.charge('17', momo, { startAnother: true }));
  expect(pressed).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
  answered.resolve();
  const opened = await finish(opening);
  expect(opened).toMatchObject({ state: 'processing', payment: { key: '17/2', method: 'mobile_money' } });
  expect(opened).not.toHaveProperty('payment.checkout_url');
  expect(opened.payments[0]).toMatchObject({ key: '17/1', checkout_url: expect.any(String) });
});

describe('a press rejects with a JournalError', () => {
  test('if the journal does not take that no charge was made', async () => {
    const store = memoryStore();
    let isDown = false;
    const shop = openOrderShop({
      store: {
        ...store,
        write: (...step) => (isDown ? Promise.reject(new Error('read only')) : store.write(...step)),
      },
      intercept() {
        isDown = true;
        return Promise.reject(connectionRefused);
      },
    });
    const orders = shop.start({}, { logger: silentLogger });
    expect(await finish(catchError(orders.charge('17', momo)))).toMatchObject({
      code: 'journal_error',
      retryable: true,
      message: expect.stringContaining('No charge was made'),
    });
    isDown = false;
    await pass(5 * SECOND);
    expect(await finish(orders.read('17'))).toMatchObject({ state: 'unpaid', canPay: true });
  });

  test('if its claim took a whole lease', async () => {
    const store = memoryStore();
    const shop = openOrderShop({
      store: {
        ...store,
        async write(...step) {
          await new Promise((resolve) => setTimeout(resolve, 10.5 * SECOND));
          return await store.write(...step);
        },
      },
    });
    const error = await finish(catchError(shop.start().charge('17', momo)));
    expect(error).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    expect(shop.requests).toEqual([]);
  });
});
