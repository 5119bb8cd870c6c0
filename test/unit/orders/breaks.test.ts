/** Sequences of events that once lost money. Each test has the one that was seen, and a variation of it. */

import { describe, expect, test, vi } from 'vitest';
import {
  type ChargeMobileMoneyInput,
  ConfigurationError,
  JournalError,
  type PaymentsClientOptions,
} from '../../../src/index.ts';
import type { OrderStatus } from '../../../src/orders/index.ts';
import { type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import {
  connectionRefused,
  DAY,
  getReference,
  HOUR,
  MINUTE,
  momo,
  type Process,
  page,
  SECOND,
  sweepFor,
  type World,
  world,
} from '../../helpers/world.ts';
import { type StoreStep, wrapStore } from '../../helpers/wrapped-store.ts';
import { another, beginnings, dearer, openReviewed, otherNumber } from './beginnings.ts';

/** Each step of the store takes 5 ms on its way, and 5 ms on its way back. */
const createSlowStore = () =>
  wrapStore(memoryStore(), async (_, run) => {
    await sleep(5);
    const result = await run();
    await sleep(5);
    return result;
  });

/** Makes a service that takes the second charge for the first, and answers both with it, after these delays. */
function suppressSecond(delays: readonly number[]) {
  let posts = 0;
  let first: Promise<Response> | undefined;
  return world({
    store: createSlowStore(),
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

test.each([
  ['after', [5 * SECOND, SECOND]],
  ['before', [2 * SECOND, 3 * SECOND]],
])('2: pays once if a press gets the transaction of another: %s it', async (_, delays) => {
  const { shop, start, service, posts, clock, paid, attentions } = suppressSecond(delays);
  const first = shop.orders.charge('17', momo);
  await clock.until(() => posts.length === 1);
  await Promise.all([first, start().orders.charge('17', otherNumber, another)]);
  const reference = service.charges[0]?.reference ?? '';
  const { payments } = await shop.orders.read('17');
  const owner = payments.find(({ attention }) => attention === undefined);
  const other = payments.find(({ attention }) => attention === 'shared_reference');
  expect([owner, other]).toMatchObject([{ reference }, { reference }]);
  service.approve(reference);
  await shop.orders.wait('17', { timeout: 20 * SECOND });
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([{ payment: { key: owner?.key } }]);
  expect(attentions).toMatchObject([{ key: other?.key, reason: 'shared_reference' }]);
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

describe('4: a frozen process learns of a charge late', () => {
  /**
   * A process has sent and is frozen for 20 s, a person resolves its payment, and an order is charged. `isSuppressed`: the service
   * takes the first charge for the second.
   */
  async function freeze(resolution: 'not_charged' | 'closed', order: string, isSuppressed = false) {
    const thawed = Promise.withResolvers<Response | undefined>();
    let count = 0;
    const made = world({
      async respond({ method }, handle) {
        if (method !== 'POST') return undefined;
        if (++count === 1) return await thawed.promise;
        const response = await handle();
        thawed.resolve(isSuppressed ? response.clone() : undefined);
        return response;
      },
    });
    const { shop, start, clock, posts, service } = made;
    const first = start().orders.charge('17', momo);
    await clock.until(() => posts.length === 1);
    // No timer of the frozen process fires.
    clock.jump(20 * SECOND);
    expect(await shop.orders.read('17')).toMatchObject({ state: 'in_review', reason: 'unresolved' });
    await shop.payments.resolve('17/1', resolution, note);
    const known = getReference(await shop.orders.charge(order, momo));
    const status = await first;
    return { ...made, status, known, learned: service.charges[1]?.reference ?? '' };
  }

  test('records it as a payment of its own, which is paid_twice beside the other', async () => {
    const { shop, service, status, known, learned, paid, attentions } = await freeze('not_charged', '17');
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

  test('leaves it to the order that has it already', async () => {
    const { shop, service, status, known, paid } = await freeze('not_charged', '18', true);
    const shared = { state: 'in_review', reason: 'shared_reference', payment: { reference: known } };
    expect(status).toMatchObject(shared);
    service.approve(known);
    await sweepFor(MINUTE, shop.orders);
    expect(paid).toMatchObject([{ order: '18', payment: { reference: known } }]);
    expect(await shop.orders.read('17')).toMatchObject(shared);
  });

  test('asks a person about it if the attempt was closed', async () => {
    const { shop, service, status, known, learned, paid, attentions } = await freeze('closed', '17');
    const review = { state: 'in_review', reason: 'unresolved', payment: { reference: learned } };
    expect(status).toMatchObject(review);
    for (const reference of [known, learned]) service.approve(reference);
    await sweepFor(MINUTE, shop.orders);
    expect(paid).toMatchObject([{ payment: { reference: known } }]);
    expect(attentions).toMatchObject([{ reason: 'unresolved', reference: learned }]);
  });
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

test.each([
  [
    'a number',
    ({ orders }: Process) => orders.charge('17', momo, another),
    ({ orders }: Process) => orders.charge('17', otherNumber, another),
  ],
  [
    'a page',
    ({ orders }: Process) => orders.checkout('17', page, another),
    ({ orders }: Process) => orders.charge('17', momo, another),
  ],
])('6: joins the open payment of %s that is asked for again', async (_, first, second) => {
  const { shop, start, clock, posts } = world();
  const worker = start();
  await first(shop);
  await clock.pass(2 * SECOND);
  await second(worker);
  await clock.pass(2 * SECOND);
  const status = await first(worker);
  expect(status).toMatchObject({
    ...{ state: 'processing', payment: { key: '17/1' } },
    payments: [{ number: 1 }, { number: 2, superseded: true }],
  });
  expect(status.payments[0]).not.toHaveProperty('superseded');
  expect(posts).toHaveLength(2);
});

describe('7: the order is asked for at another price while a payment is under way', () => {
  /** The press differs, and the old price is paid. */
  async function payOldPrice(isUnanswered: boolean) {
    const made = world();
    const { shop, service, clock } = made;
    const reference = getReference(await shop.orders.charge('17', momo));
    await clock.pass(2 * SECOND);
    if (isUnanswered) service.fault('verify', { kind: 'status', status: 503 });
    expect(await shop.orders.charge('17', dearer)).toMatchObject({ state: 'processing', differs: true });
    service.approve(reference);
    expect(await shop.orders.wait('17')).toMatchObject({ state: 'in_review', reason: 'price_changed' });
    await shop.orders.sweep();
    expect(made.paid).toEqual([]);
    expect(made.attentions).toMatchObject([{ key: '17/1', reason: 'price_changed' }]);
    return made;
  }

  test.each([false, true])(
    'a person accepts what was paid; its check got no answer: %s',
    async (isUnanswered) => {
      const { shop, paid, posts } = await payOldPrice(isUnanswered);
      await shop.payments.resolve('17/1', 'accepted', note);
      await shop.orders.sweep();
      expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1', amount: '25.50' } }]);
      expect(posts).toHaveLength(1);
    },
  );

  test('charges the new price once a person closed the old one', async () => {
    const { shop, posts } = await payOldPrice(false);
    await shop.payments.resolve('17/1', 'closed', note);
    expect(await shop.orders.charge('17', dearer)).toMatchObject({ payment: { amount: '30.00' } });
    expect(posts).toHaveLength(2);
  });
});

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

test.each([
  ['press', ({ orders }: Process) => orders.charge('17', momo)],
  ['wait', ({ orders }: Process) => orders.wait('17', { timeout: 30 * SECOND })],
])('9: counts a check for its own transaction only, after a prune: %s', async (_, call) => {
  const { shop, start, store, service, paid, clock } = world();
  service.approve(getReference(await shop.orders.charge('17', momo)));
  await clock.pass(2 * SECOND);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const holding = wrapStore(store, async ({ method }, run) => {
    isHeld ||= method === 'write';
    if (method === 'write') await held.promise;
    return await run();
  });
  const late = call(start({ store: holding }));
  await clock.until(() => isHeld);
  await sweepFor(10 * SECOND, shop.orders);
  expect(paid).toHaveLength(1);
  clock.jump(DAY);
  expect(await shop.journal.prune({ before: Date.now() })).toBe(1);
  const reference = getReference(await shop.orders.charge('17', momo));
  held.resolve();
  const underWay = { state: 'processing', payments: [{ reference, status: 'processing' }] };
  expect(await late).toMatchObject({ state: 'processing', payment: { reference } });
  expect(await shop.orders.read('17')).toMatchObject(underWay);
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

  test('is seen by the next press, which sends nothing', async () => {
    const { shop, service, reference, posts } = await failPage();
    service.approve(reference);
    expect(await shop.orders.charge('17', momo)).toMatchObject({ state: 'paid' });
    expect(posts).toHaveLength(1);
  });

  test('is seen after a webhook, whenever it comes', async () => {
    const { shop, service, reference, paid, clock } = await failPage();
    await clock.pass(20 * DAY);
    await shop.orders.sweep();
    service.approve(reference);
    await shop.orders.notify({ data: { reference } });
    await sweepFor(MINUTE, shop.orders);
    expect(paid).toMatchObject([{ payment: { reference } }]);
  });

  test('is seen by a sweep for 7 days', async () => {
    const { shop, service, reference, paid } = await failPage();
    await sweepFor(6 * DAY, shop.orders);
    service.approve(reference);
    await sweepFor(1.2 * DAY, shop.orders);
    expect(paid).toMatchObject([{ payment: { reference } }]);
  });

  test('is told as paid_twice if another payment paid the order', async () => {
    const { shop, service, reference, paid, attentions } = await failPage();
    service.approve(getReference(await shop.orders.charge('17', momo)));
    await sweepFor(MINUTE, shop.orders);
    service.approve(reference);
    await sweepFor(HOUR, shop.orders);
    expect(paid).toMatchObject([{ payment: { key: '17/2' } }]);
    expect(attentions).toMatchObject([{ key: '17/1', reason: 'paid_twice' }]);
  });
});

describe('11: the journal is away right after the charge was accepted', () => {
  const outages = {
    'takes no write': ({ method }: StoreStep) => method === 'write',
    'takes nothing': () => true,
  };

  /** Its journal fails for so many seconds, from when the first charge is accepted. */
  function failAfterCharge(
    seconds: number,
    fails: (step: StoreStep) => boolean,
    respond = (response: Response) => response,
  ) {
    let backAt = 0;
    const made = world({
      async respond({ method }, handle) {
        if (method !== 'POST') return undefined;
        const response = await handle();
        backAt = Date.now() + seconds * SECOND;
        return respond(response);
      },
    });
    const store = wrapStore(made.store, async (step, run) => {
      if (Date.now() < backAt && fails(step)) throw new Error('the database is read-only');
      return await run();
    });
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    // What it prints without a logger.
    return { ...made, written, web: made.start({ store, client: { logger: undefined } }) };
  }

  test.each(
    Object.entries(outages).flatMap(([name, fails]) =>
      [8, 60].map((seconds) => [name, seconds, fails] as const),
    ),
  )('%s for %i s: the result is returned, told and recorded', async (_, seconds, fails) => {
    const { shop, web, service, written, clock, paid } = failAfterCharge(seconds, fails);
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
  });

  test('takes no write for 60 s: a reference that an error names is kept', async () => {
    const reference = 'TXN-000001';
    const respond = () => Response.json({ message: `${reference} timed out` }, { status: 500 });
    const { shop, web, written, clock } = failAfterCharge(60, outages['takes no write'], respond);
    const review = { state: 'in_review', reason: 'unresolved', payment: { reference } };
    expect(await web.orders.charge('17', momo)).toMatchObject(review);
    expect(written.mock.calls).toEqual([[expect.stringContaining(reference)]]);
    await clock.pass(64 * SECOND);
    expect(await shop.orders.read('17')).toMatchObject(review);
  });
});

describe('12: writes that the store cuts, delays or repeats', () => {
  type Fault = (run: () => Promise<unknown>) => Promise<unknown>;

  /** What becomes of one write. */
  const faults: Record<string, Fault> = {
    async 'is cut off before it is done'() {
      throw new Error('connection reset');
    },
    async 'is cut off after it was done'(run) {
      await run();
      throw new Error('connection reset');
    },
    async 'is cut off, and done later'(run) {
      setTimeout(run, 50);
      throw new Error('connection reset');
    },
    async 'is delayed'(run) {
      await sleep(3 * SECOND);
      return await run();
    },
    async 'hangs, and is done later'(run) {
      await sleep(14 * SECOND);
      return await run();
    },
    async 'is repeated'(run) {
      await run();
      return await run();
    },
  };

  /** A store whose write number `at` meets a fault, and so do some reads after it. */
  function breakWrite(store: JournalStore, fault: Fault, at: number, reads: number) {
    const writes = { count: 0 };
    let failing = 0;
    const broken = wrapStore(store, async ({ method }, run) => {
      if (method === 'read' && failing-- > 0) throw new Error('connection reset');
      if (method !== 'write' || writes.count++ !== at) return await run();
      failing = reads;
      return await fault(run);
    });
    return { broken, writes };
  }

  async function expectPaidOnce({ shop, service, paid }: World) {
    expect(service.charges).toHaveLength(1);
    const { reference = '' } = service.charges[0] ?? {};
    service.approve(reference);
    await sweepFor(MINUTE, shop.orders);
    expect(await shop.orders.read('17')).toMatchObject({ state: 'paid', payment: { reference } });
    expect(paid).toHaveLength(1);
  }

  /** Presses in two processes, of which the first begins a bit sooner. Returns whether it wrote so often. */
  async function pressBeside(fault: Fault, at: number, reads: number, ahead: number): Promise<boolean> {
    const made = world({ store: createSlowStore() });
    const { shop, start, store, posts, clock } = made;
    const { broken, writes } = breakWrite(store, fault, at, reads);
    const web = start({ store: broken });
    const unpaid: { status: OrderStatus; posts: number }[] = [];
    const press = async ({ orders }: Process, input: ChargeMobileMoneyInput) => {
      const status = await orders.charge('17', input).catch((error: unknown) => {
        if (!(error instanceof JournalError)) throw error;
      });
      if (status?.state === 'unpaid') unpaid.push({ status, posts: posts.length });
    };
    const pressed = press(web, momo);
    await sleep(ahead);
    await Promise.all([pressed, press(shop, otherNumber)]);
    await clock.pass(20 * SECOND);
    await press(shop, momo);
    expect(unpaid.filter((end) => end.posts > 0)).toEqual([]);
    await expectPaidOnce(made);
    return writes.count > at;
  }

  test.each(Object.entries(faults))('says unpaid only if nothing was sent: a write %s', async (_, fault) => {
    for (let at = 0, isReached = true; isReached; at++) {
      isReached = false;
      for (const reads of [0, 3])
        for (const ahead of [0, 8]) isReached = (await pressBeside(fault, at, reads, ahead)) || isReached;
    }
  });
});
