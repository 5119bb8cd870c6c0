import { expect, test, vi } from 'vitest';
import { ClosedError, PaymentsClient } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { note } from '../../helpers/resolution-note.ts';
import { API_KEY, catchError } from '../../helpers/service.ts';
import {
  BASE_URL,
  getReference,
  HOUR,
  MINUTE,
  momo,
  type Process,
  page,
  type Respond,
  SECOND,
  world,
} from '../../helpers/world.ts';

const key = { idempotencyKey: 'order-17' };

const never: Respond = () => new Promise(() => {});

/** Returns whether a promise has settled. */
function watchEnd(promise: Promise<unknown>): () => boolean {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  promise.then(end, end);
  return () => hasEnded;
}

/** What is in flight at close. The response to the charge of `lost` was lost. */
const works: Record<string, (shop: Process, lost: string) => Promise<unknown>> = {
  initialize: ({ payments }) => payments.initialize(page),
  'a charge': ({ payments }) => payments.chargeMobileMoney(momo, key),
  'a charge without a key': ({ payments }) => payments.chargeMobileMoney(momo, { idempotencyKey: null }),
  verify: ({ payments }, reference) => payments.verify(reference),
  check: ({ payments }, reference) => payments.check(reference),
  resolve: ({ payments }, reference) => payments.resolve('lost', { reference }, note),
  'the charge of an order': ({ orders }) => orders.charge('17', momo),
  'the checkout of an order': ({ orders }) => orders.checkout('17', page),
};

test.for(Object.entries(works))('close waits for %s', async ([, begin]) => {
  let delay = 0;
  const { shop, service, clock } = world({
    respond: async () => {
      await sleep(delay);
      return undefined;
    },
  });
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await catchError(shop.payments.chargeMobileMoney(momo, { idempotencyKey: 'lost' }));
  delay = 3 * SECOND;
  const working = begin(shop, service.charges[0]?.reference ?? '');
  const hasEnded = watchEnd(working);
  await clock.pass(SECOND);
  await shop.payments.close();
  await clock.settle();
  expect(hasEnded()).toBe(true);
  await working;
  expect(vi.getTimerCount()).toBe(0);
});

test.for(['sweep', 'run'] as const)(
  'close waits until %s has recorded what a handler did',
  async (method) => {
    const { shop, service, clock, journal } = world({ onPaid: () => sleep(10 * SECOND) });
    service.approve(getReference(await shop.orders.charge('17', momo)));
    await clock.pass(8 * SECOND);
    const hasEnded = watchEnd(shop.orders[method]());
    await clock.pass(2 * SECOND);
    await shop.payments.close();
    await clock.settle();
    expect(hasEnded()).toBe(true);
    expect(await journal.read('17/1')).toMatchObject({ status: 'success', nextCheckAt: undefined });
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('a second close is the first one, and a closed client sends nothing', async () => {
  const { shop, clock, requests } = world();
  const closing = shop.payments.close();
  expect(shop.payments.close({ timeout: 1 })).toBe(closing);
  expect(await catchError(shop.payments.chargeMobileMoney(momo, key))).toBeInstanceOf(ClosedError);
  await closing;
  expect(clock.now).toBe(0);
  expect(requests).toEqual([]);
});

test('close waits for an outcome that the journal takes late', async () => {
  const store = memoryStore();
  let isDown = false;
  const { shop, clock, journal } = world({
    store: {
      ...store,
      write: (...step) => (isDown ? Promise.reject(new Error('read only')) : store.write(...step)),
    },
    respond: () => {
      isDown = true;
      return undefined;
    },
  });
  const { reference } = await shop.payments.chargeMobileMoney(momo, key);
  const hasClosed = watchEnd(shop.payments.close());
  await clock.pass(5 * SECOND);
  expect(hasClosed()).toBe(false);
  isDown = false;
  await clock.pass(5 * SECOND);
  expect(hasClosed()).toBe(true);
  expect(await journal.read('order-17')).toMatchObject({ state: 'completed', reference });
});

test('close neither waits for a read or a press that begins later, nor reports it', async () => {
  const store = memoryStore();
  const { shop, clock, events } = world({
    store: {
      ...store,
      read: async (...step) => {
        await sleep(5 * SECOND);
        return await store.read(...step);
      },
    },
    respond: async () => {
      await sleep(3 * SECOND);
      return undefined;
    },
  });
  const paying = catchError(shop.payments.verify('TXN-1')).then(() => shop.orders.charge('17', momo));
  await clock.settle();
  const closing = shop.payments.close();
  const reading = shop.orders.read('18');
  await closing;
  expect(clock.now).toBe(3 * SECOND);
  expect(events).not.toContainEqual(expect.objectContaining({ code: 'calls_left' }));
  await clock.pass(MINUTE);
  expect(await paying).toMatchObject({ state: 'unpaid', error: { code: 'closed' } });
  expect(await reading).toMatchObject({ state: 'unpaid' });
});

test('close waits until a claim that the database writes late is released', async () => {
  const store = memoryStore();
  const { shop, clock, journal, requests } = world({
    store: {
      ...store,
      write: async (...step) => {
        await sleep(10 * SECOND);
        return await store.write(...step);
      },
    },
  });
  const charging = catchError(shop.payments.chargeMobileMoney(momo, key));
  await clock.pass(SECOND);
  await shop.payments.close();
  expect(await journal.read('order-17')).toMatchObject({ state: 'not_sent' });
  expect(await charging).toBeInstanceOf(ClosedError);
  expect(requests).toEqual([]);
});

test.for([
  [undefined, 30 * SECOND],
  [null, 30 * SECOND],
  [{ timeout: Number.NaN }, 30 * SECOND],
  [{ timeout: 5 * SECOND }, 5 * SECOND],
] as const)('close with %o ends after %d ms, whatever the wall clock shows', async ([options, expected]) => {
  const { shop, clock } = world({ respond: never, client: { timeout: 2 * MINUTE } });
  shop.payments.verify('TXN-1').catch(() => {});
  await clock.settle();
  const startedAt = clock.now;
  const closing: Promise<void> = Reflect.apply(shop.payments.close, shop.payments, [options]);
  clock.jump(HOUR);
  await closing;
  expect(clock.now - startedAt).toBe(expected);
});

test('close without a timeout waits as long as the calls last', async () => {
  const { shop, clock } = world({ respond: never, client: { timeout: 2 * MINUTE } });
  const reading = catchError(shop.payments.verify('TXN-1'));
  await clock.settle();
  await shop.payments.close({ timeout: Number.POSITIVE_INFINITY });
  expect(await reading).toMatchObject({ code: 'request_timeout' });
  expect(clock.now).toBe(2 * MINUTE);
});

// A real timer fires at once if its delay is longer than a timer can hold. A fake one does not.
test('close without a timeout waits for a call by real timers', async () => {
  const { promise: sent, resolve: send } = Promise.withResolvers<void>();
  const fetch = async () => {
    send();
    await new Promise((resolve) => setTimeout(resolve, 200));
    throw new TypeError('fetch failed');
  };
  const client = new PaymentsClient({ apiKey: API_KEY, baseUrl: BASE_URL, maxRetries: 0, fetch });
  const hasEnded = watchEnd(client.verify('TXN-1'));
  await sent;
  await client.close({ timeout: Number.POSITIVE_INFINITY });
  expect(hasEnded()).toBe(true);
});

test.for(['console.error', 'logger'] as const)('close writes what has not ended with %s', async (where) => {
  const written = { 'console.error': vi.fn(), logger: vi.fn() };
  vi.spyOn(console, 'error').mockImplementation(written['console.error']);
  const logger = where === 'logger' ? { debug() {}, info() {}, warn() {}, error: written.logger } : undefined;
  const { shop, clock } = world({ respond: never, client: { logger, timeout: 2 * MINUTE } });
  shop.payments.chargeMobileMoney(momo, { idempotencyKey: `order\u2028${API_KEY}` }).catch(() => {});
  await clock.settle();
  await shop.payments.close();
  const line =
    'payments: close: not ended after 30000 ms, and perhaps not recorded: chargeMobileMoney "order [REDACTED]"';
  expect(written[where].mock.calls).toEqual([[line]]);
  expect(written[where === 'logger' ? 'console.error' : 'logger']).not.toHaveBeenCalled();
});

test('close names ten calls that have not ended, and shows that there are more', async () => {
  const { shop, clock, events } = world({ respond: never, client: { timeout: 2 * MINUTE } });
  for (let number = 1; number <= 11; number++) shop.payments.verify(`TXN-${number}`).catch(() => {});
  await clock.settle();
  await shop.payments.close({ timeout: 0 });
  const message = expect.stringMatching(/verify "TXN-1", .*verify "TXN-10", …$/);
  expect(events).toContainEqual({ type: 'warning', code: 'calls_left', message });
});

test('an await using block ends when the calls in flight have ended', async () => {
  const { journal, clock } = world();
  const leave = async () => {
    await using client = new PaymentsClient({
      ...{ apiKey: API_KEY, baseUrl: BASE_URL, journal },
      fetch: async () => {
        await sleep(3 * SECOND);
        return Response.json({}, { status: 400 });
      },
    });
    client.chargeMobileMoney(momo, key).catch(() => {});
    await sleep(SECOND);
  };
  await leave();
  expect(clock.now).toBe(3 * SECOND);
  expect(await journal.read('order-17')).toMatchObject({ state: 'rejected' });
});
