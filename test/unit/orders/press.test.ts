import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  InvalidInputError,
  InvalidRequestError,
  type PaymentsClientOptions,
  ServerError,
  TransactionMismatchError,
} from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type JournalStore, memoryStore } from '../../../src/journal/index.ts';
import { writeOrderRecord } from '../../../src/journal/order-record.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop, page, postsOf } from '../../helpers/order-shop.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const MOMO = 'POST charge-mobile-money';
const otherNumber = { ...momo, phone: '055 000 1111' };

test('charges once, and says that the payment is under way', async () => {
  const shop = openOrderShop();
  const status = await finish(shop.start().charge('17', momo));
  expect(status).toEqual({
    order: '17',
    state: 'processing',
    canPay: false,
    payment: {
      key: '17/1',
      number: 1,
      method: 'mobile_money',
      amount: '25.50',
      currency: 'GHS',
      network: 'mtn',
      reference: expect.stringMatching(/^TXN-/),
      status: 'processing',
      createdAt: expect.any(Number),
    },
    payments: [status.payments[0]],
  });
  expect(JSON.parse(JSON.stringify(status))).toEqual(status);
  expect(postsOf(shop)).toEqual([MOMO]);
});

test('returns the checkout page of a payment under way to each press', async () => {
  const shop = openOrderShop();
  const { checkout } = shop.start();
  const first = await finish(checkout('17', page));
  if (first.state !== 'processing') throw new Error(first.state);
  expect(first.payment).toMatchObject({
    method: 'checkout',
    checkout_url: expect.stringContaining('https://'),
  });
  await pass(2 * SECOND);
  expect(await finish(checkout('17', page))).toEqual(first);
  expect(postsOf(shop)).toHaveLength(1);
});

describe('while another press opens the page', () => {
  /** Opens a page, which takes the service 3 s, and starts another process 1 s later. */
  async function openSlowly(client?: PaymentsClientOptions) {
    const intercept = ({ method }: Request) =>
      new Promise<undefined>((resolve) => setTimeout(resolve, method === 'POST' ? 3 * SECOND : 0));
    const shop = openOrderShop({ intercept });
    const first = shop.start().checkout('17', page);
    await pass(SECOND);
    return { shop, first, other: shop.start({}, client) };
  }

  test('returns its address to both', async () => {
    const { shop, first, other } = await openSlowly();
    const [one, two] = await finish(
      Promise.all([first, other.checkout('17', { ...page, customer_email: 'kofi@shop.example' })]),
    );
    expect(one).toMatchObject({ payment: { checkout_url: expect.stringContaining('https://') } });
    expect(two).toEqual(one);
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('sends nothing again if the service refuses it', async () => {
    const { shop, first, other } = await openSlowly();
    shop.service.fault('initialize', { kind: 'status', status: 400 });
    const statuses = await finish(Promise.all([first, other.checkout('17', page)]));
    expect(statuses).toMatchObject([
      { state: 'unpaid', error: { code: 'invalid_request' } },
      { state: 'unpaid' },
    ]);
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('returns without the address after the timeout of a request, and when the client is closed', async () => {
    const { shop, first, other } = await openSlowly({ timeout: SECOND });
    const closed = shop.start();
    const presses = [other.checkout('17', page), closed.checkout('17', page)];
    await pass(100);
    closed.payments.close();
    for (const status of await finish(Promise.all(presses))) {
      expect(status).toMatchObject({ state: 'processing', payment: { method: 'checkout' } });
      expect(status).not.toHaveProperty('payment.checkout_url');
    }
    await finish(first);
  });

  test('rejects with the reason of the signal', async () => {
    const { first, other } = await openSlowly();
    const controller = new AbortController();
    const press = other.checkout('17', page, { signal: controller.signal });
    const rejected = expect(press).rejects.toBe('gone');
    await pass(100);
    controller.abort('gone');
    await rejected;
    await finish(first);
  });
});

test('sends one request for 20 presses at once in 3 processes', async () => {
  const shop = openOrderShop();
  const processes = [shop.start(), shop.start(), shop.start()];
  const presses = Array.from({ length: 20 }, (_, at) => processes[at % 3]?.charge('17', momo));
  const statuses = await finish(Promise.all(presses));
  expect(postsOf(shop)).toEqual([MOMO]);
  for (const status of statuses)
    expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
});

test('starts the next payment at once after a decline, with one check', async () => {
  const shop = openOrderShop();
  const { charge } = shop.start();
  const first = await finish(charge('17', momo));
  shop.service.decline(first.payments[0]?.reference ?? '');
  await pass(2 * SECOND);
  shop.requests.length = 0;
  const second = await finish(charge('17', otherNumber));
  expect(second).toMatchObject({ state: 'processing', payment: { key: '17/2', number: 2 } });
  expect(second.payments).toMatchObject([{ number: 1, status: 'failed' }, { number: 2 }]);
  expect(shop.requests).toEqual([`GET ${first.payments[0]?.reference}`, MOMO]);
});

test('begins one next payment for 20 presses at once after a decline', async () => {
  const shop = openOrderShop();
  const first = await finish(shop.start().charge('17', momo));
  shop.service.decline(first.payments[0]?.reference ?? '');
  await pass(2 * SECOND);
  const processes = [shop.start(), shop.start(), shop.start()];
  const presses = Array.from({ length: 20 }, (_, at) => processes[at % 3]?.charge('17', momo));
  for (const status of await finish(Promise.all(presses)))
    expect(status).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
  expect(postsOf(shop)).toHaveLength(2);
});

test('sees that an abandoned page was just paid, before a new charge', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const first = await finish(orders.checkout('17', page));
  const reference = first.payments[0]?.reference ?? '';
  shop.service.abandon(reference);
  await pass(2 * SECOND);
  expect(await finish(orders.wait('17'))).toMatchObject({ state: 'unpaid', canPay: true });
  shop.service.approve(reference);
  await pass(2 * SECOND);
  expect(await finish(orders.charge('17', momo))).toMatchObject({ state: 'paid', payment: { key: '17/1' } });
  expect(postsOf(shop)).toHaveLength(1);
});

test.each([
  ['abandoned', { state: 'unpaid', error: expect.any(ServerError) }],
  ['under way', { state: 'processing', differs: true }],
] as const)('begins no payment while the check of an earlier one fails: %s', async (kind, expected) => {
  let isDown = false;
  const intercept = async ({ method }: Request) =>
    isDown && method === 'GET' ? new Response('down', { status: 503 }) : undefined;
  const shop = openOrderShop({ intercept });
  const orders = shop.start();
  const first = await finish(orders.checkout('17', page));
  if (kind === 'abandoned') shop.service.abandon(first.payments[0]?.reference ?? '');
  await pass(2 * SECOND);
  if (kind === 'abandoned') await finish(orders.wait('17'));
  await pass(2 * SECOND);
  isDown = true;
  // A check that failed is not a check of the last second.
  for (let presses = 0; presses < 2; presses++)
    expect(await finish(orders.charge('17', momo, { startAnother: true }))).toMatchObject(expected);
  isDown = false;
  expect(await finish(orders.charge('17', momo, { startAnother: true }))).toMatchObject({
    state: 'processing',
    payment: { key: '17/2' },
  });
  expect(postsOf(shop)).toHaveLength(2);
});

test('begins no payment if an earlier one was paid with another amount', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const first = await finish(orders.checkout('17', page));
  const reference = first.payments[0]?.reference ?? '';
  shop.service.abandon(reference);
  await pass(2 * SECOND);
  await finish(orders.wait('17'));
  shop.service.approve(reference);
  shop.service.fault('verify', { kind: 'wrongAmount', amount: '20.00' });
  await pass(2 * SECOND);
  expect(await finish(orders.charge('17', momo))).toMatchObject({
    state: 'unpaid',
    error: expect.any(TransactionMismatchError),
  });
  expect(postsOf(shop)).toHaveLength(1);
});

test('sees that a superseded payment, which was gone, is paid', async () => {
  let gone = '';
  const intercept = async ({ url }: Request) =>
    gone !== '' && url.endsWith(gone) ? new Response('not found', { status: 404 }) : undefined;
  const shop = openOrderShop({ intercept });
  const orders = shop.start();
  const first = await finish(orders.checkout('17', page));
  const reference = first.payments[0]?.reference ?? '';
  gone = reference;
  await pass(2 * SECOND);
  const second = await finish(orders.charge('17', momo, { startAnother: true }));
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    await pass(20 * SECOND);
    await finish(orders.sweep());
  }
  expect(shop.attentions).toMatchObject([{ key: '17/1', reason: 'gone' }]);
  gone = '';
  shop.service.approve(reference);
  shop.service.decline(second.payments[1]?.reference ?? '');
  await pass(2 * SECOND);
  expect(await finish(orders.charge('17', otherNumber))).toMatchObject({
    state: 'paid',
    payment: { key: '17/1' },
  });
  expect(postsOf(shop)).toHaveLength(2);
});

test('checks the ten latest payments before the next one', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const references: string[] = [];
  for (let number = 1; number <= 11; number++) {
    const { payments } = await finish(orders.checkout('17', page));
    const reference = payments.at(-1)?.reference ?? '';
    references.push(reference);
    shop.service.abandon(reference);
    await pass(2 * SECOND);
    await finish(orders.wait('17'));
    await pass(2 * SECOND);
  }
  shop.service.approve(references.at(-1) ?? '');
  shop.requests.length = 0;
  expect(await finish(orders.charge('17', momo))).toMatchObject({ state: 'paid', payment: { key: '17/11' } });
  const checks = references.slice(1).map((reference) => `GET ${reference}`);
  expect(shop.requests.toSorted()).toEqual(checks);
});

test('does not say that nothing was sent if the journal fails after the request', async () => {
  const records = memoryStore();
  let isDown = false;
  const read: JournalStore['read'] = async (key) => {
    if (isDown) throw new Error('the database is away');
    return await records.read(key);
  };
  const intercept = async () => {
    isDown = true;
    return undefined;
  };
  const shop = openOrderShop({ store: { ...records, read }, intercept });
  const { charge, read: readOrder } = shop.start();
  await expect(finish(charge('17', momo))).rejects.toMatchObject({
    code: 'journal_error',
    outcome: 'unknown',
  });
  isDown = false;
  expect(await finish(readOrder('17'))).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
});

test.each([
  ['began the next payment', { latest: 2 }, { state: 'processing', payment: { key: '17/2' } }, 1],
  ['saw the order paid', { paidBy: 1 }, { state: 'paid' }, 0],
  ['saw another price paid', { priceChanged: [1] }, { state: 'in_review', reason: 'price_changed' }, 0],
])('sends nothing under its key if another press %s', async (_, recorded, expected, posts) => {
  const records = memoryStore();
  let hasGoneOn = false;
  const write: JournalStore['write'] = async (key, change) => {
    const isWritten = await records.write(key, change);
    if (key === '17/1' && !hasGoneOn) {
      hasGoneOn = true;
      const record = { format: 1 as const, latest: 1, superseded: [], priceChanged: [], ...recorded };
      await writeOrderRecord(records, { id: '17', version: null }, record);
    }
    return isWritten;
  };
  const shop = openOrderShop({ store: { ...records, write } });
  const { charge, journal } = shop.start();
  expect(await finish(charge('17', momo))).toMatchObject(expected);
  expect(await finish(journal.read('17/1'))).toMatchObject({ state: 'not_sent' });
  expect(postsOf(shop)).toHaveLength(posts);
});

test('checks an earlier payment again if its own check is older than a second', async () => {
  const records = memoryStore();
  let reference = '';
  let isHeldUp = false;
  const write: JournalStore['write'] = async (key, change) => {
    if (key === '17/2' && !isHeldUp) {
      isHeldUp = true;
      await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
      shop.service.approve(reference);
      const expected = (await records.read('\torder 17'))?.version ?? null;
      const text = JSON.stringify({ format: 1, latest: 3, superseded: [], priceChanged: [] });
      const change = { expected, version: 'another press', text, mustCommit: true, index: null, dueIn: null };
      expect(await records.write('\torder 17', change)).toBe(true);
    }
    return await records.write(key, change);
  };
  const shop = openOrderShop({ store: { ...records, write } });
  const { checkout, charge, wait } = shop.start();
  reference = (await finish(checkout('17', page))).payments[0]?.reference ?? '';
  shop.service.abandon(reference);
  await pass(2 * SECOND);
  expect(await finish(wait('17'))).toMatchObject({ state: 'unpaid' });
  await pass(2 * SECOND);
  shop.requests.length = 0;
  expect(await finish(charge('17', momo))).toMatchObject({ state: 'paid', payment: { key: '17/1' } });
  expect(isHeldUp).toBe(true);
  expect(shop.requests).toEqual([`GET ${reference}`, `GET ${reference}`]);
});

test('sends a refused payment once for two presses at once', async () => {
  const shop = openOrderShop();
  const [one, other] = [shop.start(), shop.start()];
  shop.service.fault('chargeMobileMoney', { kind: 'status', status: 400 });
  const statuses = await finish(Promise.all([one.charge('17', momo), other.charge('17', momo)]));
  expect(statuses).toMatchObject([{ state: 'unpaid' }, { state: 'unpaid' }]);
  expect(postsOf(shop)).toHaveLength(1);
});

test('records too short a digest of the number to reveal it', async () => {
  const shop = openOrderShop();
  const { charge } = shop.start();
  const digests: unknown[] = [];
  for (const id of ['17', '18']) {
    await finish(charge(id, momo));
    const stored = await shop.store.read(`${id}/1`);
    const { order } = JSON.parse(stored?.text ?? '{}');
    expect(order).toEqual({ id, number: 1, phone: expect.stringMatching(/^[\da-f]{5}$/) });
    digests.push(order.phone);
  }
  // The order is the salt.
  expect(digests[0]).not.toBe(digests[1]);
});

test('says that an order has no other payment after 200', async () => {
  const shop = openOrderShop();
  const { charge, journal } = shop.start();
  const { store } = getJournalCore(journal);
  const record = { format: 1 as const, latest: 200, superseded: [], priceChanged: [] };
  await writeOrderRecord(store, { id: '17', version: null }, record);
  const last = await finish(charge('17', momo));
  expect(last).toMatchObject({ payment: { key: '17/200' } });
  shop.service.decline(last.payments[0]?.reference ?? '');
  await pass(2 * SECOND);
  expect(await finish(charge('17', momo))).toMatchObject({
    state: 'unpaid',
    error: expect.any(ConfigurationError),
  });
  expect(postsOf(shop)).toHaveLength(1);
});

test('uses the same payment again after the service refused it, with other input too', async () => {
  const shop = openOrderShop();
  const { charge } = shop.start();
  shop.service.fault('chargeMobileMoney', { kind: 'status', status: 400 });
  const refused = await finish(charge('17', momo));
  expect(refused).toMatchObject({ state: 'unpaid', canPay: true, error: expect.any(InvalidRequestError) });
  expect(await finish(charge('17', otherNumber))).toMatchObject({
    state: 'processing',
    payment: { key: '17/1' },
  });
});

test('returns wrong input as the error of an unpaid order, and sends nothing', async () => {
  const shop = openOrderShop();
  const status = await finish(shop.start().charge('17', { ...momo, amount: '0.10' }));
  expect(status).toEqual({
    order: '17',
    state: 'unpaid',
    canPay: true,
    payments: [],
    error: expect.any(InvalidInputError),
  });
  expect(shop.requests).toEqual([]);
});

test('asks for a person after a lost response, and sends nothing until then', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  const lost = await finish(orders.charge('17', momo));
  expect(lost).toMatchObject({
    state: 'in_review',
    canPay: false,
    reason: 'unresolved',
    payment: { key: '17/1' },
  });
  expect(await finish(orders.charge('17', otherNumber))).toMatchObject({ state: 'in_review' });
  expect(postsOf(shop)).toHaveLength(1);
  const note = { by: 'ama', reason: 'looked it up' };
  await finish(orders.payments.resolve('17/1', 'not_charged', note));
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'unpaid' });
  expect(await finish(orders.charge('17', otherNumber))).toMatchObject({ payment: { key: '17/1' } });
});

test('starts the next payment after a person closed one', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await finish(orders.charge('17', momo));
  await finish(orders.payments.resolve('17/1', 'closed', { by: 'ama', reason: 'paid back by hand' }));
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'unpaid' });
  expect(await finish(orders.charge('17', momo))).toMatchObject({
    state: 'processing',
    payment: { key: '17/2' },
  });
});

describe('while a payment is under way', () => {
  const others = [
    ['number', { ...momo, phone: '055 000 1111' }],
    ['network', { ...momo, network: 'telecel' as const }],
    ['amount', { ...momo, amount: '30.00' }],
    ['currency', { ...momo, currency: 'USD' }],
  ] as const;
  test.each(others)('says that a press with another %s differs, and sends nothing', async (_, input) => {
    const shop = openOrderShop();
    const { charge } = shop.start();
    await finish(charge('17', momo));
    expect(await finish(charge('17', input))).toMatchObject({ state: 'processing', differs: true });
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('says that a press for the other method differs', async () => {
    const shop = openOrderShop();
    const { charge, checkout } = shop.start();
    await finish(charge('17', momo));
    expect(await finish(checkout('17', page))).toMatchObject({ state: 'processing', differs: true });
  });

  test('takes another email, and another form of the number, for the same', async () => {
    const shop = openOrderShop();
    const { charge } = shop.start();
    await finish(charge('17', momo));
    const input = { ...momo, customer_email: 'kofi@example.com', phone: momo.phone.replaceAll(' ', '-') };
    const status = await finish(charge('17', input, { startAnother: true }));
    expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
    expect(status).not.toHaveProperty('differs');
    expect(postsOf(shop)).toHaveLength(1);
  });

  test('starts another one if asked to, and follows the superseded one', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    const first = await finish(orders.checkout('17', page));
    await pass(2 * SECOND);
    const second = await finish(orders.charge('17', momo, { startAnother: true }));
    expect(second).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
    expect(second.payments).toMatchObject([{ number: 1, superseded: true }, { number: 2 }]);
    shop.service.approve(first.payments[0]?.reference ?? '');
    await pass(10 * SECOND);
    await finish(orders.sweep());
    expect(await finish(orders.read('17'))).toMatchObject({ state: 'paid', payment: { key: '17/1' } });
    expect(shop.paid).toMatchObject([
      { order: '17', payment: { key: '17/1' }, transaction: { status: 'success' } },
    ]);
  });
});

test('keeps the orders a and a/1 apart', async () => {
  const shop = openOrderShop();
  const { charge, read } = shop.start();
  await finish(charge('a', momo));
  await finish(charge('a/1', momo));
  expect(await finish(read('a'))).toMatchObject({ payments: [{ key: 'a/1' }] });
  expect(await finish(read('a/1'))).toMatchObject({ payments: [{ key: 'a/1/1' }] });
});

test('refuses an order whose first payment is a plain key', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  await finish(orders.payments.chargeMobileMoney(momo, { idempotencyKey: '17/1' }));
  const call = finish(orders.charge('17', momo));
  await expect(call).rejects.toMatchObject({
    code: 'configuration_error',
    message: expect.stringContaining('"17/1"'),
  });
  expect(postsOf(shop)).toHaveLength(1);
});

test.each([[''], ['a\nb'], ['x'.repeat(201)], [17]])('refuses the order %j', async (order) => {
  const shop = openOrderShop();
  // @ts-expect-error one of them is no text
  const call = finish(shop.start().charge(order, momo));
  await expect(call).rejects.toMatchObject({ code: 'configuration_error' });
  expect(shop.requests).toEqual([]);
});

describe('an API key that the service refuses', () => {
  const always = { times: Number.POSITIVE_INFINITY };
  const refused = { kind: 'status', status: 401 } as const;

  test.each([
    ['charge', 'chargeMobileMoney', momo],
    ['checkout', 'initialize', page],
  ] as const)('is thrown by %s, and the next press pays', async (method, operation, input) => {
    const shop = openOrderShop();
    const orders = shop.start();
    const press = () => Reflect.apply(orders[method], undefined, ['17', input]);
    shop.service.fault(operation, refused);
    expect(await finish(catchError(press()))).toBeInstanceOf(AuthenticationError);
    expect(await orders.journal.read('17/1')).toMatchObject({ state: 'rejected' });
    expect(await finish(press())).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
    expect(shop.service.charges.length).toBe(method === 'charge' ? 1 : 0);
  });

  test('is thrown if it shows in the check before a press, which begins nothing', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    await finish(orders.charge('17', momo));
    await pass(2 * SECOND);
    shop.service.fault('verify', refused, always);
    for (const options of [{}, { startAnother: true }])
      expect(await finish(catchError(orders.charge('17', otherNumber, options)))).toBeInstanceOf(
        AuthenticationError,
      );
    expect(postsOf(shop)).toEqual([MOMO]);
    expect(await orders.read('17')).toMatchObject({ state: 'processing' });
  });

  test('is thrown by wait, and the payment is followed further', async () => {
    const shop = openOrderShop();
    const orders = shop.start();
    const status = await finish(orders.charge('17', momo));
    shop.service.fault('verify', refused);
    expect(await finish(catchError(orders.wait('17')))).toBeInstanceOf(AuthenticationError);
    shop.service.approve(status.payments[0]?.reference ?? '');
    expect(await finish(orders.wait('17'))).toMatchObject({ state: 'paid' });
  });
});
