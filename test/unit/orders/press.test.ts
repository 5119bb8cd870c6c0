import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  InvalidInputError,
  InvalidRequestError,
  type PaymentsClientOptions,
  ServerError,
} from '../../../src/index.ts';
import { type LedgerRecord, parseLedgerRecord } from '../../../src/ledger/record.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, type OrderShop, openOrderShop, page, postsOf } from '../../helpers/order-shop.ts';
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
  const { key, checkout_url } = first.payment;
  expect(await finish(checkout('17', page))).toMatchObject({ payment: { key, checkout_url } });
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

  test('returns without the address after the timeout, and at close', async () => {
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
    state: 'in_review',
    reason: 'mismatch',
    payment: { key: '17/1', attention: 'mismatch' },
  });
  expect(postsOf(shop)).toHaveLength(1);
});

test('needs a person for a payment that is gone, until a check finds it paid', async () => {
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
    state: 'in_review',
    reason: 'gone',
    payment: { key: '17/1' },
  });
  await pass(66 * MINUTE);
  await finish(orders.sweep());
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

test('sends a refused payment once for two presses at once', async () => {
  const shop = openOrderShop();
  const [one, other] = [shop.start(), shop.start()];
  shop.service.fault('chargeMobileMoney', { kind: 'status', status: 400 });
  const statuses = await finish(Promise.all([one.charge('17', momo), other.charge('17', momo)]));
  expect(statuses).toMatchObject([{ state: 'unpaid' }, { state: 'unpaid' }]);
  expect(postsOf(shop)).toHaveLength(1);
});

/** Returns the record of an order as the store has it. */
async function readRecord({ store }: OrderShop, order: string): Promise<LedgerRecord> {
  const { record } = await store.read(`order ${order}`);
  const parsed = parseLedgerRecord(JSON.parse(record?.text ?? 'null'));
  if (!parsed) throw new Error(`there is no record of ${order}`);
  return parsed;
}

test('records too short a digest of the number to reveal it', async () => {
  const shop = openOrderShop();
  const { charge } = shop.start();
  for (const id of ['17', '18']) await finish(charge(id, momo));
  const [one, other] = [await readRecord(shop, '17'), await readRecord(shop, '18')];
  expect(one.payments[0]?.phone).toMatch(/^[\da-f]{5}$/);
  // The order is the salt.
  expect(other.payments[0]?.phone).not.toBe(one.payments[0]?.phone);
});

test('begins no payment after 50, but uses the last one again', async () => {
  const shop = openOrderShop();
  const { charge, read } = shop.start();
  await finish(charge('17', momo));
  const record = await readRecord(shop, '17');
  const [first] = record.payments;
  const { record: stored } = await shop.store.read('order 17');
  const none = { is: 'none', why: 'not_sent' } as const;
  const payments = Array.from({ length: 50 }, (_, at) => ({
    ...first,
    attempt: `attempt ${at}`,
    charge: none,
  }));
  await shop.store.write('order 17', {
    expected: stored?.version ?? null,
    version: 'fifty',
    text: JSON.stringify({ ...record, payments }),
    mustCommit: true,
    index: null,
  });
  expect(await finish(read('17'))).toMatchObject({ state: 'unpaid', canPay: true });
  const last = await finish(charge('17', momo));
  expect(last).toMatchObject({ state: 'processing', payment: { key: '17/50' } });
  shop.service.decline(last.payments.at(-1)?.reference ?? '');
  await pass(2 * SECOND);
  expect(await finish(charge('17', momo))).toMatchObject({
    state: 'unpaid',
    canPay: false,
    error: expect.any(ConfigurationError),
  });
  expect(postsOf(shop)).toHaveLength(2);
});

test('uses a refused payment again, with other input too', async () => {
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

test('tells an order from a key of the same name', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const plain = await finish(orders.payments.chargeMobileMoney(momo, { idempotencyKey: '17/1' }));
  const status = await finish(orders.charge('17', momo));
  expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
  expect(status.payments[0]?.reference).not.toBe(plain.reference);
  expect(postsOf(shop)).toHaveLength(2);
  await expect(orders.journal.read('17/1')).rejects.toThrow('fits two');
  expect(await orders.journal.read('order 17/1')).toMatchObject({
    reference: status.payments[0]?.reference,
  });
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
