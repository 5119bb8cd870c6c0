import { expect, test, vi } from 'vitest';
import { ClosedError, PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { createJournal, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, turns, until } from '../../helpers/fake-timers.ts';
import { finish, openShop } from '../../helpers/follow-ups.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { momo, openOrderShop, page } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { API_KEY, catchError, charge, payment, successBodies } from '../../helpers/service.ts';
import { heldService } from '../idempotency/held-service.ts';

/** Whether a promise has settled. */
function watchEnd(promise: Promise<unknown>) {
  const watched = { hasEnded: false };
  const end = () => {
    watched.hasEnded = true;
  };
  promise.then(end, end);
  return watched;
}

test.each(kinds)('resolves once a charge in flight is recorded, on %s', async (_, open) => {
  const { service, arrived, respond } = await heldService();
  const handle = open();
  const client = service.client({ journal: handle() });
  const charging = charged(client);
  await arrived;
  const closing = client.close();
  const watched = watchEnd(closing);
  expect(await catchError(charged(client, { idempotencyKey: 'order-18' }))).toBeInstanceOf(ClosedError);
  await turns();
  expect(watched.hasEnded).toBe(false);
  respond();
  await closing;
  expect(await handle().read(KEY)).toMatchObject({ state: 'completed', reference: REFERENCE });
  expect(await charging).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toHaveLength(1);
});

test('resolves at once if nothing is in flight, and a second close is the same one', async () => {
  fakeClocks();
  const { client } = createClient({});
  const closing = client.close();
  expect(client.close({ timeout: 1 })).toBe(closing);
  await closing;
  expect(vi.getTimerCount()).toBe(0);
});

const calls: Record<string, (client: PaymentsClient) => Promise<unknown>> = {
  initialize: (client) => client.initialize(payment),
  'a charge without a key': (client) => client.chargeMobileMoney(charge, { idempotencyKey: null }),
  verify: (client) => client.verify(REFERENCE),
  check: (client) => client.check(REFERENCE),
};

test.each(Object.entries(calls))('waits for %s', async (_, call) => {
  const respond = Promise.withResolvers<Response>();
  const fetch = vi.fn(() => respond.promise);
  const { client } = createClient({ fetch });
  const calling = catchError(call(client));
  await until(() => fetch.mock.calls.length === 1);
  const watched = watchEnd(client.close());
  await turns();
  expect(watched.hasEnded).toBe(false);
  respond.resolve(Response.json({}, { status: 400 }));
  await until(() => watched.hasEnded);
  expect(await calling).toMatchObject({ code: 'invalid_request' });
});

test('waits for resolve', async () => {
  fakeClocks();
  let isHeld = false;
  const shop = openShop({
    async intercept({ method }) {
      if (isHeld && method === 'GET') await new Promise((resolve) => setTimeout(resolve, 3 * SECOND));
      return undefined;
    },
  });
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await finish(catchError(shop.charge(KEY)));
  const reference = shop.service.charges.at(-1)?.reference ?? '';
  const { payments, journal } = shop.start();
  isHeld = true;
  const resolving = payments.resolve(KEY, { reference }, note);
  await pass(SECOND);
  await finish(payments.close());
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
  await resolving;
});

test.each(['sweep', 'run'] as const)('waits until %s has recorded what it is doing', async (method) => {
  fakeClocks();
  const shop = openOrderShop();
  const orders = shop.start({ onPaid: () => new Promise((resolve) => setTimeout(resolve, 10 * SECOND)) });
  const status = await finish(orders.charge('17', momo));
  shop.service.approve(status.payments[0]?.reference ?? '');
  await pass(8 * SECOND);
  const working = orders[method]();
  await pass(2 * SECOND, 100);
  const watched = watchEnd(orders.payments.close());
  await pass(5 * SECOND);
  expect(watched.hasEnded).toBe(false);
  await finish(Promise.all([working, until(() => watched.hasEnded)]));
  expect(await orders.journal.read('17/1')).toMatchObject({ status: 'success', nextCheckAt: undefined });
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['charge', momo],
  ['checkout', page],
] as const)('waits until %s of an order has recorded its payment', async (method, input) => {
  fakeClocks();
  const shop = openOrderShop({
    intercept: () => new Promise((resolve) => setTimeout(resolve, 3 * SECOND, undefined)),
  });
  const orders = shop.start();
  const pressing = Reflect.apply(orders[method], undefined, ['17', input]);
  await pass(SECOND);
  await finish(orders.payments.close());
  expect(await orders.journal.read('17/1')).toMatchObject({ state: 'completed' });
  expect(await pressing).toMatchObject({ state: 'processing' });
  expect(vi.getTimerCount()).toBe(0);
});

test('waits for an outcome that the journal takes after the call has ended', async () => {
  fakeClocks();
  const store = memoryStore();
  let isDown = false;
  const failing = createJournal({
    ...store,
    write: (...step) => (isDown ? Promise.reject(new Error('read only')) : store.write(...step)),
  });
  const { client } = createClient({
    journal: failing,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    async fetch() {
      isDown = true;
      return Response.json(successBodies.chargeMobileMoney());
    },
  });
  expect(await finish(charged(client))).toMatchObject({ reference: REFERENCE });
  const watched = watchEnd(client.close());
  await pass(5 * SECOND);
  expect(watched.hasEnded).toBe(false);
  isDown = false;
  await pass(5 * SECOND);
  expect(watched.hasEnded).toBe(true);
  expect(await memoryJournal({ store }).read(KEY)).toMatchObject({
    state: 'completed',
    reference: REFERENCE,
  });
});

test('waits until a claim that the database writes late is released', async () => {
  fakeClocks();
  const store = memoryStore();
  const slow = createJournal({
    ...store,
    write: async (...step) => {
      await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
      return await store.write(...step);
    },
  });
  const { client, fetch } = createClient({ journal: slow });
  const charging = catchError(charged(client));
  await pass(SECOND);
  await finish(client.close());
  expect(await memoryJournal({ store }).read(KEY)).toMatchObject({ state: 'not_sent' });
  expect(await charging).toBeInstanceOf(ClosedError);
  expect(fetch).not.toHaveBeenCalled();
});

test.each(['console.error', 'logger'])('ends after 30 s, and writes what is left with %s', async (where) => {
  fakeClocks();
  const error = vi.fn();
  if (where === 'console.error') vi.spyOn(console, 'error').mockImplementation(error);
  const logger = where === 'logger' ? { debug() {}, info() {}, warn() {}, error } : undefined;
  const { client } = createClient({ logger, timeout: 2 * MINUTE, fetch: () => new Promise(() => {}) });
  charged(client, { idempotencyKey: `order-17 ${API_KEY}` }).catch(() => {});
  await turns();
  const watched = watchEnd(client.close());
  // Whatever the wall clock says.
  vi.setSystemTime(Date.now() + 60 * MINUTE);
  await pass(29 * SECOND);
  expect(watched.hasEnded).toBe(false);
  await pass(SECOND);
  expect(watched.hasEnded).toBe(true);
  expect(error.mock.calls).toEqual([
    [
      'payments: close: not ended after 30000 ms, and perhaps not recorded: chargeMobileMoney "order-17 [REDACTED]"',
    ],
  ]);
});

test.each([
  [{ timeout: 5 * SECOND }, 5 * SECOND],
  [{ timeout: Number.POSITIVE_INFINITY }, MINUTE],
  [{ timeout: Number.NaN }, 30 * SECOND],
  [null, 30 * SECOND],
])('never rejects, and with %o waits for %d ms', async (options, expected) => {
  fakeClocks();
  const respond = Promise.withResolvers<Response>();
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const { client } = createClient({
    logger: silent,
    timeout: 2 * MINUTE,
    fetch: () => respond.promise,
  });
  client.verify(REFERENCE).catch(() => {});
  await turns();
  const watched = watchEnd(Reflect.apply(client.close, client, [options]));
  await pass(expected - SECOND);
  expect(watched.hasEnded).toBe(false);
  await pass(SECOND);
  respond.resolve(Response.json({}, { status: 400 }));
  await turns();
  expect(watched.hasEnded).toBe(true);
});

test('waits at the end of an await using block', async () => {
  const { service, arrived, respond } = await heldService();
  const journal = memoryJournal();
  const charging = Promise.withResolvers<unknown>();
  const leave = async () => {
    await using client = service.client({ journal });
    charging.resolve(charged(client));
    await arrived;
  };
  const watched = watchEnd(leave());
  await arrived;
  await turns();
  expect(watched.hasEnded).toBe(false);
  respond();
  await until(() => watched.hasEnded);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed' });
  await charging.promise;
});

function createClient(options: PaymentsClientOptions) {
  const fetch = vi.fn();
  const client = new PaymentsClient({
    apiKey: API_KEY,
    baseUrl: 'https://payments.example/api/v1',
    maxRetries: 0,
    fetch,
    journal: memoryJournal(),
    ...options,
  });
  return { client, fetch };
}
