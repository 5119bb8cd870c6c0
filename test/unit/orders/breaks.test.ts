/** Sequences of events that once lost money. Each test has the one that was seen, and a variation of it. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type ChargeMobileMoneyInput,
  ConfigurationError,
  JournalError,
  type PaymentsClientOptions,
} from '../../../src/index.ts';
import { memoryStore, type PruneOptions } from '../../../src/journal/index.ts';
import type { OrderStatus } from '../../../src/orders/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import {
  another,
  beginnings,
  DAY,
  dearer,
  getReference,
  HOUR,
  otherNumber,
} from '../../helpers/order-reasons.ts';
import {
  connectionRefused,
  momo,
  type OrderProcess,
  type OrderShop,
  openOrderShop,
  page,
  postsOf,
} from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { type StoreStep, wrapStore } from '../../helpers/wrapped-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const delay = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Each step of the store takes 5 ms on its way, and 5 ms on its way back. */
const createSlowStore = () =>
  wrapStore(memoryStore(), async (_, run) => {
    await delay(5);
    const result = await run();
    await delay(5);
    return result;
  });

/**
 * Opens a shop whose service suppresses the second charge as a duplicate, and responds to both with the first one: after these
 * delays, or to both at once.
 */
function openSuppressingShop(delays?: readonly number[]) {
  let posts = 0;
  let first: Promise<Response> | undefined;
  return openOrderShop({
    store: createSlowStore(),
    async intercept({ method }, handle) {
      if (method !== 'POST' || posts === 2) return undefined;
      const number = posts++;
      first ??= handle();
      const response = (await first).clone();
      await delay(delays?.[number] ?? 0);
      while (!delays && posts < 2) await delay(1);
      return response;
    },
  });
}

/** Lets time pass until so many POSTs have arrived. */
async function passUntilPosted(shop: OrderShop, count: number): Promise<void> {
  while (postsOf(shop).length < count) await pass(5);
}

describe('1: two orders get one transaction', () => {
  test('lets it pay one of two orders', async () => {
    const shop = openSuppressingShop();
    const [web, worker] = [shop.start(), shop.start()];
    const pressed = await finish(Promise.all([web.charge('A', momo), worker.charge('B', momo)]));
    const reference = shop.service.charges[0]?.reference ?? '';
    expect(pressed.map(({ state }) => state).sort()).toEqual(['in_review', 'processing']);
    shop.service.approve(reference);
    await pass(10 * SECOND);
    await finish(Promise.all([web.wait('A'), worker.wait('B')]));
    await finish(web.sweep());
    const statuses = await finish(Promise.all([web.read('A'), web.read('B')]));
    const [winner] = statuses.filter(({ state }) => state === 'paid');
    const [loser] = statuses.filter(({ state }) => state === 'in_review');
    expect(loser).toMatchObject({ reason: 'shared_reference', payment: { reference } });
    expect(shop.paid).toMatchObject([{ order: winner?.order, payment: { reference } }]);
    expect(shop.attentions).toMatchObject([{ order: loser?.order, reason: 'shared_reference' }]);

    const id = loser?.order ?? '';
    await finish(web.payments.resolve(`${id}/1`, 'closed', note));
    expect(await finish(web.read(id))).toMatchObject({ state: 'unpaid', canPay: true });
    expect(await finish(web.charge(id, momo))).toMatchObject({ state: 'processing' });
    expect(shop.service.charges).toHaveLength(2);
  });

  test('lets it pay an order or a key', async () => {
    const shop = openSuppressingShop([SECOND, 2 * SECOND]);
    const [web, worker] = [shop.start(), shop.start()];
    const pressed = web.charge('A', momo);
    await passUntilPosted(shop, 1);
    const plain = worker.payments.chargeMobileMoney(momo, { idempotencyKey: 'plain' });
    const [order, failure] = await finish(Promise.all([pressed, catchError(plain)]));
    const reference = shop.service.charges[0]?.reference ?? '';
    expect(order).toMatchObject({ state: 'processing', payment: { reference } });
    expect(failure).toMatchObject({ code: 'outcome_unknown', nextStep: 'review', reference });
    expect(await finish(web.journal.read('plain'))).toMatchObject({
      attention: 'shared_reference',
      reference,
    });
  });
});

test.each([
  ['after', [5 * SECOND, SECOND]],
  ['before', [2 * SECOND, 3 * SECOND]],
])('2: pays once if a press gets the transaction of another: %s it', async (_, delays) => {
  const shop = openSuppressingShop(delays);
  const [web, worker] = [shop.start(), shop.start()];
  const first = web.charge('17', momo);
  await passUntilPosted(shop, 1);
  const second = worker.charge('17', otherNumber, another);
  await finish(Promise.all([first, second]));
  const reference = shop.service.charges[0]?.reference ?? '';
  const { payments } = await finish(web.read('17'));
  const owner = payments.find(({ attention }) => attention === undefined);
  const other = payments.find(({ attention }) => attention === 'shared_reference');
  expect([owner, other]).toMatchObject([{ reference }, { reference }]);
  shop.service.approve(reference);
  await pass(10 * SECOND);
  await finish(web.wait('17', { timeout: 10 * SECOND }));
  await finish(web.sweep());
  expect(shop.paid).toMatchObject([{ payment: { key: owner?.key } }]);
  expect(shop.attentions).toMatchObject([{ key: other?.key, reason: 'shared_reference' }]);
});

describe('3: prune', () => {
  test.each(Object.entries(beginnings))('takes no order that needs a person: %s', async (reason, begin) => {
    const shop = openOrderShop();
    const orders = shop.start();
    await begin(orders, shop);
    await finish(orders.sweep());
    expect(shop.attentions.at(-1)).toMatchObject({ order: '17', reason });
    const before = await finish(orders.read('17'));
    vi.setSystemTime(Date.now() + 30 * DAY);
    const prunes: PruneOptions[] = [{ before: Date.now() }, { before: Date.now(), unfollowed: true }];
    for (const options of prunes) expect(await finish(orders.journal.prune(options))).toBe(0);
    expect(await finish(orders.read('17'))).toEqual(before);
    const posts = postsOf(shop).length;
    expect(await finish(orders.charge('17', momo))).toMatchObject({ canPay: false });
    expect(postsOf(shop)).toHaveLength(posts);
  });
});

describe('4: a frozen process learns of a charge late', () => {
  /** A process has sent and is frozen for 20 s, and a person resolves its payment. */
  async function freeze(resolution: 'not_charged' | 'closed') {
    const thaw = Promise.withResolvers<void>();
    let posts = 0;
    const shop = openOrderShop({
      async intercept({ method }) {
        if (method === 'POST' && ++posts === 1) await thaw.promise;
        return undefined;
      },
    });
    const [frozen, web] = [shop.start(), shop.start()];
    const first = frozen.charge('17', momo);
    await passUntilPosted(shop, 1);
    // No timer of the frozen process fires.
    vi.setSystemTime(Date.now() + 20 * SECOND);
    expect(await finish(web.read('17'))).toMatchObject({ state: 'in_review', reason: 'unresolved' });
    await finish(web.payments.resolve('17/1', resolution, note));
    const second = await finish(web.charge('17', momo));
    thaw.resolve();
    const status = await finish(first);
    const { charges } = shop.service;
    const [known, learned] = charges.map(({ reference }) => reference);
    expect(getReference(second)).toBe(known);
    if (known === undefined || learned === undefined) throw new Error('there are not two charges');
    return { shop, web, status, known, learned };
  }

  test('records it as a payment of its own, which is paid_twice beside the other', async () => {
    const { shop, web, status, known, learned } = await freeze('not_charged');
    expect(status).toMatchObject({
      state: 'processing',
      payment: { reference: known },
      payments: [{ reference: known }, { reference: learned }],
    });
    shop.service.approve(known);
    await pass(20 * SECOND);
    await finish(web.sweep());
    expect(shop.paid).toMatchObject([{ payment: { reference: known } }]);
    shop.service.approve(learned);
    await finish(web.notify({ reference: learned }));
    await pass(2 * SECOND);
    await finish(web.sweep());
    expect(shop.attentions).toMatchObject([{ reason: 'paid_twice', reference: learned }]);
    expect(shop.paid).toHaveLength(1);
  });

  test('leaves it to the order that has it already', async () => {
    const thaw = Promise.withResolvers<Response>();
    let posts = 0;
    const shop = openOrderShop({
      async intercept({ method }, handle) {
        if (method !== 'POST') return undefined;
        if (++posts === 1) return await thaw.promise;
        const response = await handle();
        // The service takes the first charge for a repetition of this one.
        thaw.resolve(response.clone());
        return response;
      },
    });
    const [frozen, web] = [shop.start(), shop.start()];
    const first = frozen.charge('17', momo);
    await passUntilPosted(shop, 1);
    vi.setSystemTime(Date.now() + 20 * SECOND);
    await finish(web.payments.resolve('17/1', 'not_charged', note));
    const reference = getReference(await finish(web.charge('18', momo)));
    const shared = { state: 'in_review', reason: 'shared_reference', payment: { reference } };
    expect(await finish(first)).toMatchObject(shared);
    shop.service.approve(reference);
    await pass(20 * SECOND);
    await finish(web.sweep());
    expect(shop.paid).toMatchObject([{ order: '18', payment: { reference } }]);
    expect(await finish(web.read('17'))).toMatchObject(shared);
  });

  test('asks a person about it if the attempt was closed', async () => {
    const { shop, web, status, known, learned } = await freeze('closed');
    const review = { state: 'in_review', reason: 'unresolved', payment: { reference: learned } };
    expect(status).toMatchObject(review);
    shop.service.approve(known);
    shop.service.approve(learned);
    await pass(20 * SECOND);
    await finish(web.sweep());
    expect(shop.paid).toMatchObject([{ payment: { reference: known } }]);
    expect(shop.attentions).toMatchObject([{ reason: 'unresolved', reference: learned }]);
  });
});

test.each([
  ['is refused', async () => Response.json({ message: 'no such number' }, { status: 422 })],
  ['is not sent', () => Promise.reject(connectionRefused)],
])('5: the payment under way is current again if another one %s', async (_, respond) => {
  let posts = 0;
  const shop = openOrderShop({
    intercept: async ({ method }) => (method === 'POST' && ++posts === 2 ? await respond() : undefined),
  });
  const orders = shop.start();
  await finish(orders.charge('17', momo));
  await pass(2 * SECOND);
  const underWay = { state: 'processing', canPay: false, payment: { key: '17/1' } };
  const refused = await finish(orders.charge('17', otherNumber, another));
  expect(refused).toMatchObject({ ...underWay, differs: true, error: expect.any(Error) });
  expect(refused.payments[0]).not.toHaveProperty('superseded');
  expect(await finish(orders.read('17'))).toMatchObject(underWay);
  const joined = await finish(orders.charge('17', momo));
  expect(joined).toMatchObject(underWay);
  expect(joined).not.toHaveProperty('differs');
  expect(shop.service.charges).toHaveLength(1);
});

test.each([
  [
    'a number',
    ({ charge }: OrderProcess) => charge('17', momo, another),
    ({ charge }: OrderProcess) => charge('17', otherNumber, another),
  ],
  [
    'a page',
    ({ checkout }: OrderProcess) => checkout('17', page, another),
    ({ charge }: OrderProcess) => charge('17', momo, another),
  ],
])('6: joins the open payment of %s that is asked for again', async (_, first, second) => {
  const shop = openOrderShop();
  const [web, worker] = [shop.start(), shop.start()];
  await finish(first(web));
  await pass(2 * SECOND);
  await finish(second(worker));
  await pass(2 * SECOND);
  const status = await finish(first(worker));
  expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
  expect(status.payments).toMatchObject([{ number: 1 }, { number: 2, superseded: true }]);
  expect(status.payments[0]).not.toHaveProperty('superseded');
  expect(postsOf(shop)).toHaveLength(2);
});

describe('7: the order is asked for at another price while a payment is under way', () => {
  test.each([
    ['differs', undefined],
    ['gets no answer to its check', new Response('down', { status: 503 })],
  ])('needs a person if the press %s, and the old price is paid', async (_, response) => {
    let isChecking = false;
    const shop = openOrderShop({
      intercept: async ({ method }) => (isChecking && method === 'GET' ? response?.clone() : undefined),
    });
    const orders = shop.start();
    const reference = getReference(await finish(orders.charge('17', momo)));
    await pass(2 * SECOND);
    isChecking = true;
    expect(await finish(orders.charge('17', dearer))).toMatchObject({ state: 'processing', differs: true });
    isChecking = false;
    shop.service.approve(reference);
    await pass(10 * SECOND);
    expect(await finish(orders.wait('17'))).toMatchObject({ state: 'in_review', reason: 'price_changed' });
    await finish(orders.sweep());
    expect(shop.paid).toEqual([]);
    expect(shop.attentions).toMatchObject([{ key: '17/1', reason: 'price_changed' }]);
    await finish(orders.payments.resolve('17/1', 'accepted', note));
    await finish(orders.sweep());
    expect(shop.paid).toMatchObject([{ order: '17', payment: { key: '17/1', amount: '25.50' } }]);
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('charges the new price once the payment of the old one is closed', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    const reference = getReference(await finish(orders.charge('17', momo)));
    await pass(2 * SECOND);
    await finish(orders.charge('17', dearer));
    shop.service.approve(reference);
    await pass(10 * SECOND);
    expect(await finish(orders.charge('17', dearer))).toMatchObject({ reason: 'price_changed' });
    await finish(orders.payments.resolve('17/1', 'closed', note));
    expect(await finish(orders.charge('17', dearer))).toMatchObject({ payment: { amount: '30.00' } });
    expect(shop.service.charges).toHaveLength(2);
  });
});

describe('8: a client of another service', () => {
  const others: [string, PaymentsClientOptions][] = [
    ['base URL', { baseUrl: 'https://other.example/api/v1' }],
    ['mode', { apiKey: 'sk_live_4vK9qLm2Xw7RtZ' }],
  ];
  const calls: [string, (orders: OrderProcess) => Promise<unknown>][] = [
    ['charge', ({ charge }) => charge('17', momo)],
    ['charge with startAnother', ({ charge }) => charge('17', otherNumber, another)],
    ['charge of wrong input', ({ charge }) => charge('17', { ...momo, amount: '0.10' })],
    ['checkout', ({ checkout }) => checkout('17', page)],
    ['read', ({ read }) => read('17')],
    ['wait', ({ wait }) => wait('17')],
    ['resolve', ({ payments }) => payments.resolve('17/1', 'closed', note)],
  ];

  test.each(others)('is refused before anything is read or written: another %s', async (_, client) => {
    const shop = openOrderShop();
    await finish(shop.start().charge('17', momo));
    await pass(2 * SECOND);
    shop.requests.length = 0;
    const before = await shop.store.read('order 17');
    const other = shop.start({}, client);
    for (const [name, call] of calls)
      expect([name, await finish(catchError(call(other)))]).toEqual([name, expect.any(ConfigurationError)]);
    expect(shop.requests).toEqual([]);
    expect((await shop.store.read('order 17')).record).toEqual(before.record);
  });
});

test.each([
  ['press', ({ charge }: OrderProcess) => charge('17', momo)],
  ['wait', ({ wait }: OrderProcess) => wait('17', { timeout: 30 * SECOND })],
])('9: counts a check for its own transaction only, after a prune: %s', async (_, call) => {
  const shop = openOrderShop();
  const web = shop.start();
  const first = getReference(await finish(web.charge('17', momo)));
  shop.service.approve(first);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const store = wrapStore(shop.store, async ({ method }, run) => {
    if (method === 'write') {
      isHeld = true;
      await held.promise;
    }
    return await run();
  });
  await pass(2 * SECOND);
  const late = call(shop.start({}, {}, store));
  while (!isHeld) await pass(500);
  await finish(web.sweep());
  await pass(8 * SECOND);
  await finish(web.sweep());
  expect(shop.paid).toHaveLength(1);
  vi.setSystemTime(Date.now() + DAY);
  expect(await finish(web.journal.prune({ before: Date.now() }))).toBe(1);
  const second = getReference(await finish(web.charge('17', momo)));
  held.resolve();
  expect(await finish(late)).toMatchObject({ state: 'processing', payment: { reference: second } });
  const status = await finish(web.read('17'));
  expect(status).toMatchObject({ state: 'processing', payments: [{ reference: second }] });
  expect(status.payments[0]?.status).not.toBe('success');
});

describe('10: a payment succeeds after it failed', () => {
  /** The first card on a page failed, and the customer was asked to pay again. */
  async function failPage() {
    const shop = openOrderShop();
    const orders = shop.start();
    const reference = getReference(await finish(orders.checkout('17', page)));
    shop.service.decline(reference);
    await pass(10 * SECOND);
    await finish(orders.sweep());
    expect(shop.unpaid).toHaveLength(1);
    expect(await finish(orders.read('17'))).toMatchObject({ state: 'unpaid', canPay: true });
    await pass(2 * SECOND);
    return { shop, orders, reference };
  }

  test('is seen by the next press, which sends nothing', async () => {
    const { shop, orders, reference } = await failPage();
    shop.service.approve(reference);
    expect(await finish(orders.charge('17', momo))).toMatchObject({ state: 'paid' });
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('is seen after a webhook', async () => {
    const { shop, orders, reference } = await failPage();
    vi.setSystemTime(Date.now() + 20 * DAY);
    await finish(orders.sweep());
    shop.service.approve(reference);
    await finish(orders.notify({ data: { reference } }));
    await pass(2 * SECOND);
    await finish(orders.sweep());
    expect(shop.paid).toMatchObject([{ payment: { reference } }]);
  });

  test('is seen by a sweep for 7 days', async () => {
    const { shop, orders, reference } = await failPage();
    for (let hours = 0; hours < 6 * 24; hours += 12) {
      vi.setSystemTime(Date.now() + 12 * HOUR);
      await finish(orders.sweep());
    }
    shop.service.approve(reference);
    vi.setSystemTime(Date.now() + 1.2 * DAY);
    await finish(orders.sweep());
    expect(shop.paid).toMatchObject([{ payment: { reference } }]);
  });

  test('is told as paid_twice if another payment paid the order', async () => {
    const { shop, orders, reference } = await failPage();
    shop.service.approve(getReference(await finish(orders.charge('17', momo))));
    await pass(10 * SECOND);
    await finish(orders.sweep());
    shop.service.approve(reference);
    await pass(HOUR, MINUTE);
    await finish(orders.sweep());
    expect(shop.paid).toMatchObject([{ payment: { key: '17/2' } }]);
    expect(shop.attentions).toMatchObject([{ key: '17/1', reason: 'paid_twice' }]);
  });
});

describe('11: the journal is away right after the charge was accepted', () => {
  const faults = {
    'takes no write': ({ method }: StoreStep) => method === 'write',
    'takes nothing': () => true,
  };
  const outages = Object.entries(faults).flatMap(([name, fails]) =>
    [8, 60].map((seconds) => [name, seconds, fails] as const),
  );

  /** Opens a shop whose journal fails for so many seconds, from when the first charge is accepted. */
  function openFailingShop(
    seconds: number,
    fails: (step: StoreStep) => boolean,
    respond = (response: Response) => response,
  ) {
    let backAt = 0;
    const store = memoryStore();
    const failing = wrapStore(store, async (step, run) => {
      if (Date.now() < backAt && fails(step)) throw new Error('the database is read-only');
      return await run();
    });
    const shop = openOrderShop({
      store,
      async intercept({ method }, handle) {
        if (method !== 'POST') return undefined;
        const response = await handle();
        backAt = Date.now() + seconds * SECOND;
        return respond(response);
      },
    });
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    return { shop, written, web: shop.start({}, {}, failing), worker: shop.start() };
  }

  test.each(outages)('%s for %i s: the result is returned, told and recorded', async (_, seconds, fails) => {
    const { shop, written, web, worker } = openFailingShop(seconds, fails);
    const beganAt = Date.now();
    const status = await finish(web.charge('17', momo));
    expect(Date.now() - beganAt).toBeLessThan(15 * SECOND);
    const reference = shop.service.charges[0]?.reference ?? '';
    expect(status).toMatchObject({ state: 'processing', canPay: false, payment: { key: '17/1', reference } });
    expect(written.mock.calls).toEqual([[expect.stringMatching(`${reference}.*not recorded, key "17/1"`)]]);
    await pass((seconds + 4) * SECOND);
    expect(await finish(worker.read('17'))).toMatchObject({ state: 'processing', payment: { reference } });
    shop.service.approve(reference);
    await finish(worker.sweep());
    expect(shop.paid).toMatchObject([{ order: '17', payment: { reference } }]);
    expect(written).toHaveBeenCalledOnce();
  });

  test('takes no write for 60 s: a reference that an error names is kept', async () => {
    const reference = 'TXN-000001';
    const respond = () => Response.json({ message: `${reference} timed out` }, { status: 500 });
    const { written, web, worker } = openFailingShop(60, faults['takes no write'], respond);
    const review = { state: 'in_review', reason: 'unresolved', payment: { reference } };
    expect(await finish(web.charge('17', momo))).toMatchObject(review);
    expect(written.mock.calls).toEqual([[expect.stringContaining(reference)]]);
    await pass(64 * SECOND);
    expect(await finish(worker.read('17'))).toMatchObject(review);
  });
});

describe('12: writes that the store cuts, delays or repeats', () => {
  /** What becomes of one write. */
  const faults = {
    async 'is cut off before it is done'() {
      throw new Error('connection reset');
    },
    async 'is cut off after it was done'(run: () => Promise<unknown>) {
      await run();
      throw new Error('connection reset');
    },
    async 'is cut off, and done later'(run: () => Promise<unknown>) {
      setTimeout(run, 50);
      throw new Error('connection reset');
    },
    async 'is delayed'(run: () => Promise<unknown>) {
      await delay(3 * SECOND);
      return await run();
    },
    async 'hangs, and is done later'(run: () => Promise<unknown>) {
      await delay(14 * SECOND);
      return await run();
    },
    async 'is repeated'(run: () => Promise<unknown>) {
      await run();
      return await run();
    },
  };

  interface Faulty {
    readonly fault: (run: () => Promise<unknown>) => Promise<unknown>;
    /** Which write of the first process meets the fault. */
    readonly at: number;
    /** How many reads after it fail. */
    readonly reads: number;
    /** How much sooner the first process begins, in milliseconds. */
    readonly ahead: number;
  }

  /** Presses in two processes. One write of the first meets a fault, and so do some reads after it. */
  async function pressBeside({ fault, at, reads, ahead }: Faulty) {
    let writes = 0;
    let failing = 0;
    const shop = openOrderShop({ store: createSlowStore() });
    const store = wrapStore(shop.store, async ({ method }, run) => {
      if (method === 'read' && failing-- > 0) throw new Error('connection reset');
      if (method !== 'write' || writes++ !== at) return await run();
      failing = reads;
      return await fault(run);
    });
    const [web, worker] = [shop.start({}, {}, store), shop.start()];
    const ends: { status: OrderStatus; posts: number }[] = [];
    const press = async ({ charge }: OrderProcess, input: ChargeMobileMoneyInput) => {
      const status = await charge('17', input).catch((error: unknown) => {
        if (error instanceof JournalError) return undefined;
        throw error;
      });
      if (status) ends.push({ status, posts: postsOf(shop).length });
    };
    const pressed = press(web, momo);
    await pass(ahead, 1);
    await finish(Promise.all([pressed, press(worker, otherNumber)]));
    await pass(20 * SECOND);
    await finish(press(worker, momo));
    return { shop, worker, ends, isReached: writes > at };
  }

  async function expectPaidOnce({ shop, worker }: { shop: OrderShop; worker: OrderProcess }) {
    expect(shop.service.charges).toHaveLength(1);
    const { reference = '' } = shop.service.charges[0] ?? {};
    shop.service.approve(reference);
    await pass(20 * SECOND);
    await finish(worker.sweep());
    expect(await finish(worker.read('17'))).toMatchObject({ state: 'paid', payment: { reference } });
    expect(shop.paid).toHaveLength(1);
  }

  test.each(Object.entries(faults))('says unpaid only if nothing was sent: a write %s', async (_, fault) => {
    for (let at = 0, isReached = true; isReached; at++) {
      isReached = false;
      for (const reads of [0, 3]) {
        for (const ahead of [0, 8]) {
          const pressed = await pressBeside({ fault, at, reads, ahead });
          isReached ||= pressed.isReached;
          const unpaid = pressed.ends.filter(({ status }) => status.state === 'unpaid');
          expect(unpaid.filter(({ posts }) => posts > 0)).toEqual([]);
          await expectPaidOnce(pressed);
        }
      }
    }
  });
});
