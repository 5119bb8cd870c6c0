/** What a person decides about an order, by reason: what is offered, what follows, and what is refused. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type ChargeMobileMoneyInput, JournalError, type Resolution } from '../../../src/index.ts';
import { memoryStore } from '../../../src/journal/index.ts';
import type { AttentionReason, OrderStatus } from '../../../src/orders/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { beginnings, dearer, getReference, payAfterClosing } from '../../helpers/order-reasons.ts';
import { momo, type OrderProcess, type OrderShop, openOrderShop, postsOf } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { change } from '../../helpers/store-writes.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

type State = OrderStatus['state'];

/** What follows from a resolution: the state of the order, and what a press does then. */
interface Follows {
  readonly state: State;
  /** The payment that a press charges; `undefined`: it sends nothing. */
  readonly charges?: '17/1' | '17/2' | '17/3';
  /** Whether the next sweep calls `onPaid` for the payment. */
  readonly isPaid?: boolean;
}

interface Row {
  readonly begin: (orders: OrderProcess, shop: OrderShop) => Promise<void>;
  readonly reason: AttentionReason;
  readonly state: State;
  readonly offers: { readonly [Offer in 'reference' | 'not_charged' | 'accepted' | 'closed']?: Follows };
}

const unresolved: Pick<Row, 'state' | 'offers'> = {
  state: 'in_review',
  offers: {
    reference: { state: 'processing' },
    not_charged: { state: 'unpaid', charges: '17/1' },
    closed: { state: 'unpaid', charges: '17/2' },
  },
};
const closedOnly = { closed: { state: 'unpaid', charges: '17/2' } } as const;

const rows: Readonly<Record<string, Row>> = {
  unresolved: { begin: beginnings.unresolved, reason: 'unresolved', ...unresolved },
  shared_reference: { begin: beginnings.shared_reference, reason: 'shared_reference', ...unresolved },
  paid_twice: {
    begin: beginnings.paid_twice,
    reason: 'paid_twice',
    state: 'paid',
    offers: { closed: { state: 'paid' } },
  },
  price_changed: {
    begin: beginnings.price_changed,
    reason: 'price_changed',
    state: 'in_review',
    offers: {
      accepted: { state: 'paid', isPaid: true },
      closed: { state: 'unpaid', charges: '17/3' },
    },
  },
  'mismatch, paid': {
    begin: beginnings.mismatch,
    reason: 'mismatch',
    state: 'in_review',
    offers: { accepted: { state: 'paid', isPaid: true }, ...closedOnly },
  },
  'mismatch, not paid': {
    async begin(orders, { service }) {
      const reference = getReference(await finish(orders.charge('17', momo)));
      service.fault('verify', { kind: 'wrongAmount', amount: '20.00' }, { times: 1_000 });
      await pass(20 * SECOND);
      await finish(orders.sweep());
      expect(reference).not.toBe('');
    },
    reason: 'mismatch',
    state: 'in_review',
    offers: closedOnly,
  },
  gone: { begin: beginnings.gone, reason: 'gone', state: 'in_review', offers: closedOnly },
  unreadable: {
    begin: beginnings.unreadable,
    reason: 'unreadable',
    state: 'processing',
    offers: closedOnly,
  },
  overdue: { begin: beginnings.overdue, reason: 'overdue', state: 'processing', offers: closedOnly },
  'paid after closing': {
    begin: payAfterClosing,
    reason: 'price_changed',
    state: 'unpaid',
    offers: closedOnly,
  },
};

async function openRow({ begin }: Row) {
  const shop = openOrderShop();
  const orders = shop.start();
  await begin(orders, shop);
  const { journal } = orders;
  const readEntry = () => finish(journal.read('17/1'));
  const readOrder = () => finish(orders.read('17'));
  return { shop, orders, readEntry, readOrder, listed: () => listKeys(orders) };
}

/** The transaction that the customer really has. */
const toResolution = (offer: string, { service }: OrderShop): Resolution =>
  offer === 'reference'
    ? { reference: service.charges.at(-1)?.reference ?? '' }
    : JSON.parse(JSON.stringify(offer));

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const listKeys = async ({ journal }: OrderProcess) =>
  (await finish(collect(journal.listAttention()))).map(({ key, reason }) => [key, reason]);

const words = ['reference', 'not_charged', 'accepted', 'closed'] as const;
const cells = Object.entries(rows).flatMap(([name, row]) => words.map((word) => [name, word, row] as const));

test.each(Object.entries(rows))('offers what fits: %s', async (_, row) => {
  const { readEntry, readOrder, listed } = await openRow(row);
  const entry = await readEntry();
  expect(entry).toMatchObject({ attention: row.reason, offers: Object.keys(row.offers) });
  expect((await readOrder()).state).toBe(row.state);
  expect(await listed()).toEqual([['17/1', row.reason]]);
});

test.each(cells.filter(([, word, row]) => row.offers[word]))(
  'does what is offered: %s, %s',
  async (_, word, row) => {
    const { shop, orders, readOrder, listed } = await openRow(row);
    const { state, charges, isPaid = false } = row.offers[word] ?? { state: 'unpaid' };
    const before = shop.paid.length;
    const entry = await finish(orders.payments.resolve('17/1', toResolution(word, shop), note));
    expect(entry.attention).toBeUndefined();
    expect(entry.resolutions.at(-1)).toMatchObject(note);
    expect(await listed()).toEqual([]);
    expect(await readOrder()).toMatchObject({ state, canPay: state === 'unpaid' });

    shop.service.clearFaults();
    await pass(2 * SECOND);
    await finish(orders.sweep());
    expect(shop.paid.slice(before).map(({ payment }) => payment.key)).toEqual(isPaid ? ['17/1'] : []);
    const posts = postsOf(shop).length;
    const pressed = await finish(orders.charge('17', momo));
    expect(postsOf(shop)).toHaveLength(posts + (charges ? 1 : 0));
    if (charges) expect(pressed).toMatchObject({ state: 'processing', payment: { key: charges } });
    else expect(pressed.state).toBe(state);
  },
);

test.each(cells.filter(([, word, row]) => !row.offers[word]))(
  'refuses what is not offered: %s, %s',
  async (name, word, row) => {
    const { shop, orders, readEntry, readOrder } = await openRow(row);
    // A transaction that nobody else has, so that nothing else is wrong with it.
    if (word === 'reference') shop.service.clearFaults();
    await finish(orders.payments.chargeMobileMoney(momo, { idempotencyKey: null }));
    const resolution = toResolution(word, shop);
    // What the check of `payments.resolve` finds is recorded, and nothing else.
    const read = async () => {
      const { state, attention, offers, reference, resolutions } = (await readEntry()) ?? {};
      return [state, attention, offers, reference, resolutions, (await readOrder()).state];
    };
    const before = await read();
    const failures: unknown[] = [];
    for (const resolver of [orders.journal, orders.payments])
      failures.push(await finish(catchError(resolver.resolve('17/1', resolution, note))));
    const decision = word === 'reference' ? '{ reference }' : word;
    const fitting = Object.keys(row.offers).join(' or ');
    const unfit = {
      name: 'JournalError',
      message: expect.stringContaining(
        `"${decision}" does not fit this payment. Nothing was changed. It can be ${fitting}.`,
      ),
    };
    const isRead = name !== 'unreadable' || word === 'reference';
    expect(failures).toMatchObject([unfit, isRead ? unfit : { name: 'InvalidRequestError' }]);
    expect(await read()).toEqual(before);
  },
);

describe('a decision counts for what the person saw', () => {
  /** What happens between the look of kofi and the write of his decision. */
  type Meanwhile = (process: OrderProcess, shop: OrderShop) => Promise<unknown>;
  const ama = { by: 'ama@shop.example', reason: 'seen at the service' };
  const decide = (resolution: Resolution | 'reference'): Meanwhile => {
    return ({ payments }, shop) =>
      payments.resolve(
        '17/1',
        resolution === 'reference' ? toResolution('reference', shop) : resolution,
        ama,
      );
  };
  const press =
    (input: ChargeMobileMoneyInput): Meanwhile =>
    (process) =>
      process.charge('17', input);
  const both =
    (one: Meanwhile, other: Meanwhile): Meanwhile =>
    async (...given) => {
      await one(...given);
      await other(...given);
    };
  const checkPaid: Meanwhile = async ({ notify, sweep }, { service }) => {
    const reference = service.charges[0]?.reference ?? '';
    service.clearFaults();
    service.approve(reference);
    await notify({ reference });
    await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
    await sweep();
  };

  /** Kofi's resolution, the reason, what happens meanwhile, who or what the message names, and what the payment is then. */
  const races: [string, keyof typeof beginnings, string, Meanwhile, string, object][] = [
    ['reference', 'unresolved', 'a person', decide('not_charged'), 'ama@shop', { state: 'not_charged' }],
    ['reference', 'unresolved', 'a person', decide('closed'), 'ama@shop', { state: 'closed' }],
    ['not_charged', 'unresolved', 'a person', decide('reference'), 'ama@shop', { state: 'completed' }],
    ['not_charged', 'unresolved', 'a person', decide('closed'), 'ama@shop', { state: 'closed' }],
    ['closed', 'unresolved', 'a person', decide('not_charged'), 'ama@shop', { state: 'not_charged' }],
    ['closed', 'unresolved', 'a person', decide('reference'), 'ama@shop', { state: 'completed' }],
    ['accepted', 'price_changed', 'a person', decide('closed'), 'ama@shop', { state: 'closed' }],
    ['closed', 'price_changed', 'a person', decide('accepted'), 'ama@shop', { offers: [] }],
    [
      'closed',
      'unresolved',
      'a press that began on not_charged',
      both(decide('not_charged'), press(momo)),
      'ama@shop',
      { state: 'completed', attempts: 2, attention: undefined },
    ],
    [
      'reference',
      'unresolved',
      'a press that began on not_charged',
      both(decide('not_charged'), press(momo)),
      'ama@shop',
      { state: 'completed', attempts: 2, attention: undefined },
    ],
    [
      'accepted',
      'price_changed',
      'a press at its price',
      press(momo),
      'a press at another price',
      { offers: [] },
    ],
    [
      'closed',
      'price_changed',
      'a press at its price',
      press(momo),
      'a press at another price',
      { offers: [] },
    ],
    [
      'accepted',
      'price_changed',
      'a press at a third price',
      press({ ...momo, amount: '40.00' }),
      'a press at another price',
      { attention: 'price_changed' },
    ],
    ['closed', 'overdue', 'a check', checkPaid, 'a check', { status: 'success', attention: undefined }],
    ['closed', 'gone', 'a check', checkPaid, 'a check', { status: 'success', attention: undefined }],
  ];

  test.each(races)('%s of what is %s, and meanwhile %s', async (word, reason, _, meanwhile, who, entry) => {
    const store = memoryStore();
    const shop = openOrderShop({ store });
    const web = shop.start();
    await beginnings[reason](web, shop);
    await pass(2 * SECOND);
    // It happens at the last moment: when kofi has read and asked all, and his decision is to be written.
    let isNext = true;
    const held = wrapStore(store, async ({ method, key }, run) => {
      const isWrite = method === 'write' && key === 'order 17' && isNext;
      if (isWrite) isNext = false;
      if (isWrite) await meanwhile(web, shop);
      return await run();
    });
    const kofi = shop.start({}, {}, held);
    const failure = await finish(catchError(kofi.journal.resolve('17/1', toResolution(word, shop), note)));
    expect(isNext).toBe(false);
    expect(failure).toBeInstanceOf(JournalError);
    expect(String(failure)).toContain(`This payment was changed meanwhile by ${who}`);
    expect(String(failure)).toContain('Nothing was changed. Read its entry again.');
    const found = await finish(web.journal.read('17/1'));
    expect(found).toMatchObject(entry);
    expect(found?.resolutions.filter(({ by }) => by === note.by)).toEqual([]);
  });

  test('is told of what changed since a page was shown', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    await beginnings.price_changed(orders, shop);
    const { revision } = (await finish(orders.journal.read('17/1'))) ?? {};
    await finish(orders.charge('17', { ...momo, amount: '40.00' }));
    const late = { ...note, revision };
    for (const resolution of ['accepted', 'closed'] as const)
      expect(String(await finish(catchError(orders.payments.resolve('17/1', resolution, late))))).toContain(
        'changed meanwhile by a press at another price',
      );
    expect(await finish(orders.journal.read('17/1'))).toMatchObject({
      attention: 'price_changed',
      resolutions: [],
    });
  });

  test.each(words)('is one of two at once, and the other is told: %s', async (word) => {
    const reason = word === 'accepted' ? 'price_changed' : 'unresolved';
    const shop = openOrderShop();
    const [one, other] = [shop.start(), shop.start()];
    await beginnings[reason](one, shop);
    const last = word === 'closed' ? 'not_charged' : 'closed';
    const results = await finish(
      Promise.allSettled([
        one.payments.resolve('17/1', toResolution(word, shop), note),
        other.payments.resolve('17/1', last, ama),
      ]),
    );
    const [told] = results.filter((result) => result.status === 'rejected');
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(String(told?.reason)).toMatch(/changed meanwhile by (kofi|ama)@shop\.example/);
    expect((await finish(one.journal.read('17/1')))?.resolutions).toHaveLength(1);
  });
});

test.each(['payments', 'journal'] as const)(
  'closes a payment again that was paid after it was closed, by %s',
  async (resolver) => {
    const shop = openOrderShop();
    const orders = shop.start();
    await payAfterClosing(orders, shop);
    expect(await listKeys(orders)).toEqual([['17/1', 'price_changed']]);
    const close = (by: string): Promise<unknown> =>
      orders[resolver].resolve('17/1', 'closed', { by, reason: 'paid back' });
    await finish(close('ama@shop.example'));
    expect(await listKeys(orders)).toEqual([]);
    expect(await finish(orders.journal.count())).toEqual({ records: 1, attention: 0 });
    const entry = await finish(orders.journal.read('17/1'));
    expect(entry).toMatchObject({ state: 'closed', attention: undefined });
    expect(entry?.resolutions.map(({ by, resolution }) => [by, resolution])).toEqual([
      ['kofi@shop.example', 'closed'],
      ['ama@shop.example', 'closed'],
    ]);
    // The same again changes nothing.
    await finish(close('kofi@shop.example'));
    expect((await finish(orders.journal.read('17/1')))?.resolutions).toHaveLength(2);
  },
);

describe('a resolution that cannot be', () => {
  const wrong: [string, string, unknown, object, string][] = [
    ['an unknown word', '17/1', 'refunded', note, 'Resolve a key with { reference }'],
    ['no reference', '17/1', {}, note, 'Resolve a key with { reference }'],
    ['nothing', '17/1', null, note, 'Resolve a key with { reference }'],
    ['a blank reason', '17/1', 'closed', { ...note, reason: ' \t ' }, 'reason must be text of 1 to 1000'],
    ['a blank by', '17/1', 'closed', { ...note, by: '  ' }, 'by must be text of 1 to 200'],
    ['no note', '17/1', 'closed', {}, 'A resolution needs { by, reason }'],
    ['an order', '17', 'closed', note, 'This is an order: name one of its payments, such as "17/1"'],
    ['a payment that is not there', '17/2', 'closed', note, 'has no record of the key "17/2"'],
    ['an unknown order', '99', 'closed', note, 'has no record of the key "99"'],
    ['a transaction for an unknown order', '99', { reference: 'TXN-1' }, note, 'no record of the key "99"'],
  ];
  test.each(wrong)('is refused, and changes nothing: %s', async (_, key, resolution, given, message) => {
    const shop = openOrderShop();
    const orders = shop.start();
    await beginnings.unresolved(orders, shop);
    const before = await finish(orders.journal.read('17/1'));
    const requests = shop.requests.length;
    for (const resolver of [orders.payments, orders.journal]) {
      const calling = Reflect.apply(resolver.resolve, resolver, [key, resolution, given]);
      expect(String(await finish(catchError(calling)))).toContain(message);
    }
    expect(await finish(orders.journal.read('17/1'))).toEqual(before);
    expect(await finish(orders.journal.count())).toEqual({ records: 1, attention: 1 });
    expect(shop.requests).toHaveLength(requests);
  });
});

describe('listInReview', () => {
  const listOrders = async (orders: OrderProcess, query?: { limit: number }) =>
    await finish(collect(orders.listInReview(query)));

  test('yields each order in review once, oldest first, until it is decided', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    // Two payments of one order are unresolved.
    await beginnings.price_changed(orders, shop);
    shop.service.approve((await finish(orders.read('17'))).payments[1]?.reference ?? '');
    await finish(orders.charge('17', { ...momo, amount: '40.00' }));
    await pass(20 * SECOND);
    await finish(orders.sweep());
    shop.service.fault('chargeMobileMoney', { kind: 'responseLost' }, { times: 3 });
    for (const id of ['19', '18']) {
      await finish(orders.charge(id, momo));
      await pass(SECOND);
    }
    await finish(catchError(orders.payments.chargeMobileMoney(dearer, { idempotencyKey: 'key' })));
    await finish(orders.charge('20', momo));

    const listed = await listOrders(orders);
    expect(listed.map(({ order }) => order)).toEqual(['17', '19', '18']);
    for (const status of listed) expect(status).toEqual(await finish(orders.read(status.order)));
    expect(listed[1]).toMatchObject({ state: 'in_review', reason: 'unresolved', payment: { key: '19/1' } });
    expect((await listOrders(orders, { limit: 1 })).map(({ order }) => order)).toEqual(['17']);
    await finish(shop.start().payments.resolve('19/1', 'not_charged', note));
    expect((await listOrders(orders)).map(({ order }) => order)).toEqual(['17', '18']);
  });

  test('leaves out what journal.listAttention has besides', async () => {
    for (const reason of ['paid_twice', 'overdue', 'unreadable'] as const) {
      const shop = openOrderShop();
      const orders = shop.start();
      await beginnings[reason](orders, shop);
      expect(await listKeys(orders)).toEqual([['17/1', reason]]);
      expect(await listOrders(orders)).toEqual([]);
    }
  });

  test('leaves the orders of another service to a client of that', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    await beginnings.unresolved(orders, shop);
    const other = shop.start({}, { baseUrl: 'https://other.example/api/v1' });
    expect(await listOrders(other)).toEqual([]);
    expect(await listOrders(orders)).toHaveLength(1);
  });

  test('names records that cannot be read after all others', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    await beginnings.unresolved(orders, shop);
    const index = { kind: 'order', createdAt: 1, attentionAt: 1, dueAt: null } as const;
    await shop.store.write('order 5', { ...change, index, text: '{"format":99}' });
    const items = orders.listInReview();
    expect(await finish(items.next())).toMatchObject({ value: { order: '17' } });
    expect(String(await finish(catchError(items.next())))).toContain('The records of "5" cannot be read');
  });

  test.each([
    [17, 'listInReview takes an object'],
    [{ limit: -1 }, 'limit must be a whole number'],
    [{ state: 'x' }, 'Unknown option "state"'],
  ])('refuses %j', async (query, message) => {
    const { listInReview } = openOrderShop().start();
    const failure = await finish(catchError(Reflect.apply(listInReview, undefined, [query]).next()));
    expect(failure).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(message) });
  });
});
