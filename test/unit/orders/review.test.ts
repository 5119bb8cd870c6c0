/** What a person decides about an order, by reason: what is offered, what follows, and what is refused. */

import { describe, expect, test } from 'vitest';
import type { Resolution, ResolveOptions } from '../../../src/index.ts';
import type { AttentionReason, OrderStatus } from '../../../src/orders/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { change } from '../../helpers/store-writes.ts';
import {
  collect,
  getReference,
  MINUTE,
  momo,
  SECOND,
  sweepFor,
  type World,
  world,
} from '../../helpers/world.ts';
import { runCommand } from '../operators/command/run-command.ts';
import { another, beginnings, dearer, openReviewed, payAfterClosing } from './beginnings.ts';

type State = OrderStatus['state'];

/** What follows from a resolution: the state of the order, and what a press does then. */
interface Follows {
  readonly state: State;
  /** The payment that a press charges; `undefined`: it sends nothing. */
  readonly charges?: '17/1' | '17/2' | '17/3';
  /** Whether the next sweep calls `onPaid` for the payment. */
  readonly isPaid?: boolean;
}

const words = ['reference', 'not_charged', 'accepted', 'closed'] as const;

interface Row {
  readonly begin: (world: World) => Promise<void>;
  readonly reason: AttentionReason;
  readonly state: State;
  readonly offers: { readonly [Offer in (typeof words)[number]]?: Follows };
}

const unresolved = {
  reference: { state: 'processing' },
  not_charged: { state: 'unpaid', charges: '17/1' },
  closed: { state: 'unpaid', charges: '17/2' },
} as const;
const closedOnly = { closed: unresolved.closed };
const accepted = { state: 'paid', isPaid: true } as const;

const toRow = (reason: AttentionReason, state: State, offers: Row['offers'] = closedOnly): Row => ({
  ...{ begin: beginnings[reason], reason, state, offers },
});

const rows: Readonly<Record<string, Row>> = {
  unresolved: toRow('unresolved', 'in_review', unresolved),
  shared_reference: toRow('shared_reference', 'in_review', unresolved),
  paid_twice: toRow('paid_twice', 'paid', { closed: { state: 'paid' } }),
  price_changed: toRow('price_changed', 'in_review', {
    accepted,
    closed: { state: 'unpaid', charges: '17/3' },
  }),
  'mismatch, paid': toRow('mismatch', 'in_review', { accepted, ...closedOnly }),
  'mismatch, not paid': {
    ...toRow('mismatch', 'in_review'),
    async begin({ shop, service }) {
      await shop.orders.charge('17', momo);
      service.fault('verify', { kind: 'wrongAmount', amount: '20.00' }, { times: 1_000 });
      await sweepFor(MINUTE, shop.orders);
    },
  },
  gone: toRow('gone', 'in_review'),
  unreadable: toRow('unreadable', 'processing'),
  overdue: toRow('overdue', 'processing'),
  'paid after closing': { ...toRow('price_changed', 'unpaid'), begin: payAfterClosing },
};

/** The transaction that the customer really has. */
const toResolution = (offer: string, { service }: World): Resolution =>
  offer === 'reference'
    ? { reference: service.charges.at(-1)?.reference ?? '' }
    : JSON.parse(JSON.stringify(offer));

const listKeys = async ({ journal }: World) =>
  (await collect(journal.listAttention())).map(({ key, reason }) => [key, reason]);

const cells = Object.entries(rows).flatMap(([name, row]) => words.map((word) => [name, word, row] as const));

test.each(Object.entries(rows))('offers what fits: %s', async (_, row) => {
  const made = await openReviewed(row.begin);
  const entry = await made.journal.read('17/1');
  expect(entry).toMatchObject({ attention: row.reason, offers: Object.keys(row.offers) });
  expect(await made.shop.orders.read('17')).toMatchObject({ state: row.state });
  expect(await listKeys(made)).toEqual([['17/1', row.reason]]);
});

test.each(cells.filter(([, word, row]) => row.offers[word]))(
  'does what is offered: %s, %s',
  async (_, word, row) => {
    const made = await openReviewed(row.begin);
    const { shop, service, clock, paid, posts } = made;
    const { state, charges, isPaid = false } = row.offers[word] ?? { state: 'unpaid' };
    paid.length = 0;
    const entry = await shop.payments.resolve('17/1', toResolution(word, made), note);
    expect(entry.attention).toBeUndefined();
    expect(entry.resolutions.at(-1)).toMatchObject({ ...note, at: entry.updatedAt });
    expect(await listKeys(made)).toEqual([]);
    expect(await shop.orders.read('17')).toMatchObject({ state, canPay: state === 'unpaid' });

    service.clearFaults();
    await clock.pass(2 * SECOND);
    await shop.orders.sweep();
    expect(paid.map(({ payment }) => payment.key)).toEqual(isPaid ? ['17/1'] : []);
    posts.length = 0;
    const pressed = await shop.orders.charge('17', momo);
    expect(posts).toHaveLength(charges ? 1 : 0);
    if (charges) expect(pressed).toMatchObject({ state: 'processing', payment: { key: charges } });
    else expect(pressed.state).toBe(state);
  },
);

test.each(cells.filter(([, word, row]) => !row.offers[word]))(
  'refuses what is not offered: %s, %s',
  async (_, word, row) => {
    const made = await openReviewed(row.begin);
    const { shop, service, journal } = made;
    // A transaction that nobody else has, so that nothing else is wrong with it.
    if (word === 'reference') service.clearFaults();
    await shop.payments.chargeMobileMoney(momo, { idempotencyKey: null });
    const resolution = toResolution(word, made);
    // What the check of `payments.resolve` finds is recorded, and nothing else.
    const read = async () => {
      const { state, attention, offers, reference, resolutions } = (await journal.read('17/1')) ?? {};
      return [state, attention, offers, reference, resolutions, (await shop.orders.read('17')).state];
    };
    const before = await read();
    const show = (offer: string) => (offer === 'reference' ? '{ reference }' : offer);
    const unfit = {
      name: 'JournalError',
      message: expect.stringContaining(
        `"${show(word)}" does not fit this payment. Nothing was changed. It can be ${Object.keys(row.offers).map(show).join(' or ')}.`,
      ),
    };
    for (const resolver of [journal, shop.payments])
      expect(await catchError(resolver.resolve('17/1', resolution, note))).toMatchObject(unfit);
    expect(await read()).toEqual(before);
  },
);

test('keeps a shared transaction that nobody has any more', async () => {
  const made = await openReviewed('shared_reference');
  const { shop, store } = made;
  const { record } = await store.read('order 16');
  await store.delete?.([{ key: 'order 16', version: record?.version ?? '' }]);
  await shop.payments.resolve('17/1', toResolution('reference', made), note);
  expect(await shop.orders.read('17')).toMatchObject({
    state: 'in_review',
    payments: [{ reference: 'TXN-000002' }, { reference: 'TXN-000001', attention: 'unresolved' }],
  });
});

test('an order shows the payment that is to be decided, not another one that is under way', async () => {
  const { shop, service, clock } = world();
  await shop.orders.charge('17', momo);
  await clock.pass(2 * SECOND);
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await shop.orders.charge('17', dearer, another);
  const shown = { state: 'in_review', reason: 'unresolved', payment: { key: '17/2' } };
  expect(await shop.orders.read('17')).toMatchObject(shown);
});

test('a transaction that a person adds pays the order at the price last asked for', async () => {
  const { shop, service, clock } = world();
  await shop.orders.charge('17', momo);
  await clock.pass(2 * SECOND);
  expect(await shop.orders.charge('17', dearer)).toMatchObject({ state: 'processing', differs: true });
  const { reference } = await shop.payments.chargeMobileMoney(dearer, { idempotencyKey: null });
  service.approve(reference);
  await shop.payments.resolve('17', { reference }, note);
  await sweepFor(MINUTE, shop.orders);
  expect(await shop.orders.read('17')).toMatchObject({ state: 'paid', payment: { key: '17/2' } });
});

test('a check in flight counts for no payment of another price', async () => {
  let isSlow = false;
  const { shop, service, clock, paid } = world({
    respond: async (request, handle) => {
      const response = await handle();
      if (request.method === 'POST') return Response.error();
      const wait = isSlow ? 20 * SECOND : 0;
      isSlow = false;
      if (wait > 0) await sleep(wait);
      return response;
    },
  });
  await Promise.all([shop.orders.charge('17', momo), shop.orders.charge('17', dearer, another)]);
  const reference = service.charges.find(({ amount }) => amount === momo.amount)?.reference ?? '';
  service.approve(reference);
  await shop.payments.resolve('17/1', { reference }, note);
  await clock.pass(30 * SECOND);
  isSlow = true;
  const sweeping = shop.orders.sweep();
  await clock.until(() => !isSlow);
  await shop.payments.resolve('17/1', 'closed', note);
  await shop.payments.resolve('17/2', { reference }, note);
  await sweeping;
  expect(paid).toEqual([]);
  expect(await shop.orders.read('17')).toMatchObject({ state: 'in_review', reason: 'mismatch' });
});

test('a webhook finds no order by a reference that was a mistake', async () => {
  const { shop } = await openReviewed('unresolved');
  const { reference } = await shop.payments.chargeMobileMoney(momo, { idempotencyKey: null });
  await shop.payments.resolve('17/1', { reference }, note);
  await shop.payments.resolve('17/1', 'not_charged', note);
  await shop.orders.notify({ reference });
  expect(await shop.orders.read('17')).toMatchObject({ state: 'unpaid', canPay: true });
});

test.each(['payments', 'journal'] as const)(
  'closes a payment again that was paid after it was closed, by %s',
  async (resolver) => {
    const made = await openReviewed(payAfterClosing);
    const { shop, journal } = made;
    const close = async (by: string): Promise<unknown> =>
      await shop[resolver].resolve('17/1', 'closed', { by, reason: 'paid back' });
    await close('ama@shop.example');
    expect(await listKeys(made)).toEqual([]);
    expect(await journal.count()).toEqual({ records: 1, attention: 0 });
    // The same again changes nothing.
    await close('kofi@shop.example');
    expect(await journal.read('17/1')).toMatchObject({
      ...{ state: 'closed', attention: undefined },
      resolutions: ['kofi@shop.example', 'ama@shop.example'].map((by) => ({ by, resolution: 'closed' })),
    });
  },
);

describe('listInReview', () => {
  const listOrders = async ({ shop }: World, query?: { limit: number }) =>
    await collect(shop.orders.listInReview(query));
  const getIds = (statuses: readonly OrderStatus[]) => statuses.map(({ order }) => order);

  test('yields each order in review once, oldest first, until it is decided', async () => {
    // Two payments of one order are unresolved.
    const made = await openReviewed('price_changed');
    const { shop, service, clock, start } = made;
    const { charge, read } = shop.orders;
    service.approve(getReference(await read('17'), 2));
    await charge('17', { ...momo, amount: '40.00' });
    await sweepFor(MINUTE, shop.orders);
    service.fault('chargeMobileMoney', { kind: 'responseLost' }, { times: 3 });
    for (const id of ['19', '18']) {
      await charge(id, momo);
      await clock.pass(SECOND);
    }
    await catchError(shop.payments.chargeMobileMoney(dearer, { idempotencyKey: 'key' }));
    await charge('20', momo);

    const listed = await listOrders(made);
    expect(getIds(listed)).toEqual(['17', '19', '18']);
    for (const status of listed) expect(status).toEqual(await read(status.order));
    expect(listed[1]).toMatchObject({ state: 'in_review', reason: 'unresolved', payment: { key: '19/1' } });
    expect(getIds(await listOrders(made, { limit: 1 }))).toEqual(['17']);
    await start().payments.resolve('19/1', 'not_charged', note);
    expect(getIds(await listOrders(made))).toEqual(['17', '18']);
  });

  test.each(['paid_twice', 'overdue', 'unreadable'] as const)('leaves %s out', async (reason) => {
    const made = await openReviewed(reason);
    expect(await listKeys(made)).toEqual([['17/1', reason]]);
    expect(await listOrders(made)).toEqual([]);
  });

  test('leaves the orders of another service to a client of that', async () => {
    const made = await openReviewed('unresolved');
    const other = made.start({ client: { baseUrl: 'https://other.example/api/v1' } });
    expect(await listOrders({ ...made, shop: other })).toEqual([]);
    expect(await listOrders(made)).toHaveLength(1);
  });

  test('names records that cannot be read after all others', async () => {
    const { shop, store } = await openReviewed('unresolved');
    const index = { kind: 'order', createdAt: 1, attentionAt: 1, dueAt: null } as const;
    await store.write('order 5', { ...change, index, text: '{"format":99}' });
    const items = shop.orders.listInReview();
    expect(await items.next()).toMatchObject({ value: { order: '17' } });
    expect(String(await catchError(items.next()))).toContain('The records of "5" cannot be read');
  });

  test.each([
    [17, 'listInReview takes an object'],
    [{ limit: -1 }, 'limit must be a whole number'],
    [{ state: 'x' }, 'Unknown option "state"'],
  ])('refuses %j', async (query, message) => {
    const { listInReview } = world().shop.orders;
    const failure = await catchError(Reflect.apply(listInReview, undefined, [query]).next());
    expect(failure).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(message) });
  });
});

describe('what a person gets wrong changes nothing', () => {
  /** Does something wrong about a payment with another amount. */
  async function attempt(run: (world: World) => Promise<string>) {
    const made = await openReviewed('mismatch');
    const read = async () => [(await made.store.read('order 17')).record, [...made.requests]];
    const before = await read();
    const said = await run(made);
    expect(await read()).toEqual(before);
    return said;
  }

  const WORDS =
    'is no resolution. Give { reference }, "not_charged", "accepted" or "closed". Nothing was changed.';
  const UNKNOWN = 'The journal has no record of the key or order';
  const reference = { reference: 'TXN-000001' };

  /** As a caller without types gives them. */
  const wrong: [key: string, resolution: unknown, options: unknown, told: string][] = [
    ['17/1', 'paid_back', note, `ConfigurationError: "paid_back" ${WORDS}`],
    ['17/1', 'Closed', note, `ConfigurationError: "Closed" ${WORDS}`],
    ['17/1', true, note, `ConfigurationError: This boolean ${WORDS}`],
    ['17/1', {}, note, `ConfigurationError: This object ${WORDS}`],
    ['17/1', { reference: ' ' }, note, 'reference must be that of a transaction, such as TXN-8F2K1.'],
    ['17/1', 'closed', { ...note, by: '  ' }, 'by must be text of 1 to 200 characters in one line: who'],
    ['17/1', 'closed', { ...note, reason: '\t' }, 'reason must be text of 1 to 1000 characters in one line'],
    ['17/1', 'closed', { by: 'kofi' }, 'ConfigurationError: A resolution needs { by, reason }.'],
    ['17/1', 'closed', null, 'ConfigurationError: A resolution needs { by, reason }'],
    ['17/1', 'closed', { ...note, revision: 5 }, 'ConfigurationError: revision must be the revision of the'],
    ['17/1', 'closed', { ...note, revision: 'old' }, 'JournalError: This payment was changed meanwhile by a'],
    ['99', 'closed', note, `JournalError: ${UNKNOWN} "99". Nothing was changed.`],
    ['99', reference, note, `JournalError: ${UNKNOWN} "99". Nothing was changed.`],
    ['17/9', 'closed', note, `JournalError: ${UNKNOWN} "17/9". Nothing was changed.`],
    ['17', 'closed', note, 'This is an order: name one of its payments, such as "17/1". Nothing'],
  ];

  describe.each(['payments', 'journal'] as const)('%s.resolve', (door) => {
    test.each(wrong)('refuses %s, %o, %o', async (key, resolution, options, told) => {
      const [given, how]: [Resolution, ResolveOptions] = JSON.parse(JSON.stringify([resolution, options]));
      const said = await attempt(async ({ shop }) => {
        const resolved: Promise<unknown> = shop[door].resolve(key, given, how);
        return String(await catchError(resolved));
      });
      expect(said).toContain(told);
    });
  });

  const by = ['--by', 'kofi', '--reason', 'paid back'];
  const UNFIT = 'does not fit this payment. Nothing was changed. It can be accepted or closed.';

  test.each<[args: string[], told: string]>([
    [['show', '99'], `${UNKNOWN} "99".`],
    [['show', '17/9'], `${UNKNOWN} "17/9".`],
    [['resolve', '99', '--closed', ...by], `${UNKNOWN} "99".`],
    [['resolve', '99', '--reference', 'TXN-000001', ...by], `${UNKNOWN} "99".`],
    [['resolve', '17', '--closed', ...by], 'This is an order: resolve one of its payments, such as 17/1.'],
    [['resolve', '17/1', '--paid-back', ...by], "Unknown option '--paid-back'"],
    [['resolve', '17/1', ...by], 'one of these: --reference TXN-…, --not-charged, --accepted or --closed.'],
    [['resolve', '17/1', '--not-charged', '--yes', ...by], `"not_charged" ${UNFIT}`],
    [['resolve', '17/1', '--reference', '8F2K1', ...by], 'reference must be that of a transaction, such as'],
    [['resolve', '17/1', '--closed', '--by', ' ', '--reason', 'x'], 'resolve needs --by'],
    [['resolve', '17/1', '--closed', '--by', 'kofi', '--reason', ''], 'resolve needs --reason'],
  ])('the command refuses %j', async (args, told) => {
    const said = await attempt(async ({ shop: { payments, journal }, clock }) => {
      const run = () => runCommand(args, { exports: { payments, journal } });
      const { code, out, err } = await clock.hold(run);
      expect([code, out]).toEqual([1, '']);
      return err;
    });
    expect(said).toContain(told);
  });
});
