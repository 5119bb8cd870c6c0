/** What a person decides about an order, by reason: what is offered, what follows, and what is refused. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Resolution } from '../../../src/index.ts';
import type { AttentionReason, OrderStatus } from '../../../src/orders/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import {
  beginnings,
  dearer,
  getReference,
  openReviewed,
  payAfterClosing,
} from '../../helpers/order-reasons.ts';
import { momo, type OrderProcess, type OrderShop, openOrderShop, postsOf } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { change } from '../../helpers/store-writes.ts';

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
  async (_, word, row) => {
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
    const fitting = Object.keys(row.offers)
      .map((offer) => (offer === 'reference' ? '{ reference }' : offer))
      .join(' or ');
    const unfit = {
      name: 'JournalError',
      message: expect.stringContaining(
        `"${decision}" does not fit this payment. Nothing was changed. It can be ${fitting}.`,
      ),
    };
    expect(failures).toMatchObject([unfit, unfit]);
    expect(await read()).toEqual(before);
  },
);

test('keeps a shared transaction that nobody has any more', async () => {
  const { shop, orders } = await openReviewed('shared_reference');
  const { record } = await shop.store.read('order 16');
  await shop.store.delete?.([{ key: 'order 16', version: record?.version ?? '' }]);
  await finish(orders.payments.resolve('17/1', toResolution('reference', shop), note));
  expect(await finish(orders.read('17'))).toMatchObject({
    state: 'in_review',
    payments: [{ reference: 'TXN-000002' }, { reference: 'TXN-000001', attention: 'unresolved' }],
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
