/** What a press of "Pay" sends and returns. What a person has to decide is in review.test.ts and breaks.test.ts. */

import { getEventListeners } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  ConnectionError,
  InvalidInputError,
  InvalidRequestError,
  JournalError,
  RateLimitError,
  ServerError,
} from '../../../src/index.ts';
import { NoJournalError } from '../../../src/journal/store.ts';
import { type LedgerRecord, parseLedgerRecord } from '../../../src/ledger/record.ts';
import { type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { catchError, EMAIL, successBodies } from '../../helpers/service.ts';
import { connectionRefused, getReference, momo, page, SECOND, slow, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { another, dearer, otherNumber } from './beginnings.ts';

const MOMO = 'POST charge-mobile-money';
const always = { times: Number.POSITIVE_INFINITY };
const invalid = { ...momo, amount: '0.10' };
const underWay = { state: 'processing', canPay: false, payment: { key: '17/1' } };

/** Begins 17/1, whose last check is 2 s ago then. */
async function begin(options?: Parameters<typeof world>[0]) {
  const { shop, ...made } = world(options);
  const reference = getReference(await shop.orders.charge('17', momo));
  await made.clock.pass(2 * SECOND);
  return { ...made, shop, ...shop.orders, reference };
}

/** Opens a page whose customer leaves, and which is checked after that. */
async function abandonPage() {
  const { shop, service, clock, ...made } = world();
  const reference = getReference(await shop.orders.checkout('17', page));
  service.abandon(reference);
  await clock.pass(2 * SECOND);
  expect(await shop.orders.wait('17')).toMatchObject({ state: 'unpaid', canPay: true });
  await clock.pass(2 * SECOND);
  return { ...made, service, clock, ...shop.orders, reference };
}

describe('a first press', () => {
  test('takes 4 steps of the store, a read and a join 1', async () => {
    const steps: string[] = [];
    const store = wrapStore(memoryStore(), ({ method, key }, run) => {
      steps.push(`${method} ${key}`);
      return run();
    });
    const { shop, clock } = world({ store });
    const { charge, read } = shop.orders;
    const reference = `reference ${getReference(await charge('17', momo)).toLowerCase()}`;
    const takeSteps = () => steps.splice(0);
    expect(takeSteps()).toEqual(['read order 17', 'write order 17', `write ${reference}`, 'write order 17']);
    await charge('17', momo);
    expect(takeSteps()).toEqual(['read order 17']);
    // With a check. The price that it asks for is in the write of that.
    for (const input of [momo, dearer]) {
      await clock.pass(2 * SECOND);
      await charge('17', input);
      expect(takeSteps()).toEqual(['read order 17', 'write order 17']);
    }
    await read('17');
    expect(takeSteps()).toEqual(['read order 17']);
  });

  test('shows the status that the service returned with the charge', async () => {
    const { shop } = world();
    const shown = { state: 'processing', payment: { status: 'processing' } };
    expect(await shop.orders.charge('17', momo)).toMatchObject(shown);
    expect(await shop.orders.read('17')).toMatchObject(shown);
  });

  test('records too short a digest of the number to reveal it', async () => {
    const { shop, store } = world();
    for (const id of ['17', '18']) await shop.orders.charge(id, momo);
    const phones = [await readRecord(store, '17'), await readRecord(store, '18')].map(
      ({ payments }) => payments[0]?.phone,
    );
    // The order is the salt.
    expect(phones).toEqual([
      expect.stringMatching(/^[\da-f]{5}$/),
      expect.not.stringMatching(`${phones[0]}`),
    ]);
  });
});

/** Returns the record of an order as the store has it. */
async function readRecord(store: JournalStore, order: string): Promise<LedgerRecord> {
  const { record } = await store.read(`order ${order}`);
  const parsed = parseLedgerRecord(JSON.parse(record?.text ?? 'null'));
  if (!parsed) throw new Error(`there is no record of ${order}`);
  return parsed;
}

describe('before the first press', () => {
  test('each call rejects if the journal has no table and makes none', async () => {
    const read = () => Promise.reject(new NoJournalError('Call migrate().'));
    const { shop, requests } = world({ store: { ...memoryStore(), read } });
    const { orders } = shop;
    for (const call of [() => orders.read('17'), () => orders.wait('17'), () => orders.charge('17', momo)])
      expect(await catchError(call())).toBeInstanceOf(JournalError);
    expect(requests).toEqual([]);
  });

  test.each([[''], ['a\nb'], ['x'.repeat(201)], [17]])('refuses the order %j', async (order) => {
    const { shop, requests } = world();
    // @ts-expect-error one of them is no text
    const call = shop.orders.charge(order, momo);
    await expect(call).rejects.toMatchObject({ code: 'configuration_error' });
    expect(requests).toEqual([]);
  });

  test('returns wrong input as the error of an unpaid order', async () => {
    const { shop, requests } = world();
    const error = expect.any(InvalidInputError);
    const unpaid = { order: '17', state: 'unpaid', canPay: true, payments: [], error };
    expect(await shop.orders.charge('17', invalid)).toEqual(unpaid);
    expect(requests).toEqual([]);
  });
});

describe('a press that the service does not accept', () => {
  test.each<[string, () => Response | Promise<Response>, { new (...values: never): Error }]>([
    ['a refusal', () => Response.json({}, { status: 400 }), InvalidRequestError],
    ['a rate limit', () => Response.json({}, { status: 429 }), RateLimitError],
    ['no connection', () => Promise.reject(connectionRefused), ConnectionError],
  ])('has its error after %s, is sent once, and the next uses its payment', async (_, respond, kind) => {
    let isBroken = true;
    const { shop, start, posts } = world({ respond: () => (isBroken ? respond() : undefined) });
    const unpaid = { state: 'unpaid', canPay: true };
    const presses = [shop.orders.charge('17', momo), start().orders.charge('17', momo)];
    expect(await Promise.all(presses)).toMatchObject([{ ...unpaid, error: expect.any(kind) }, unpaid]);
    expect(posts).toHaveLength(1);
    expect(await shop.orders.read('17')).not.toHaveProperty('error');
    isBroken = false;
    expect(await shop.orders.charge('17', otherNumber)).toMatchObject(underWay);
  });

  test('begins no payment after 50, but uses the last one again', async () => {
    const { shop, store, service, clock, posts } = world();
    const { charge, read } = shop.orders;
    await charge('17', momo);
    const record = await readRecord(store, '17');
    const { record: stored } = await store.read('order 17');
    const payments = Array.from({ length: 50 }, (_, at) => ({
      ...record.payments[0],
      attempt: `attempt ${at}`,
      charge: { is: 'none', why: 'not_sent' },
    }));
    await store.write('order 17', {
      expected: stored?.version ?? null,
      version: 'fifty',
      text: JSON.stringify({ ...record, payments }),
      mustCommit: true,
      index: null,
    });
    expect(await read('17')).toMatchObject({ state: 'unpaid', canPay: true });
    const last = await charge('17', momo);
    expect(last).toMatchObject({ state: 'processing', payment: { key: '17/50' } });
    service.decline(getReference(last));
    await clock.pass(2 * SECOND);
    const full = { state: 'unpaid', canPay: false, error: expect.any(ConfigurationError) };
    expect(await charge('17', momo)).toMatchObject(full);
    expect(posts).toHaveLength(2);
  });
});

describe('while another press opens the page', () => {
  /** Opens a page, which takes the service 3 s, and starts another process 1 s later. */
  async function openSlowly(client = {}) {
    const made = world({ respond: slow('POST', 3 * SECOND) });
    const first = made.shop.orders.checkout('17', page);
    await made.clock.pass(SECOND);
    return { ...made, first, other: made.start({ client }).orders };
  }

  test('returns its address to both, and to each later press', async () => {
    const { first, other, posts, clock } = await openSlowly();
    const presses = [first, other.checkout('17', { ...page, customer_email: 'kofi@shop.example' })];
    const [one, two] = await Promise.all(presses);
    const opened = { method: 'checkout', checkout_url: expect.stringContaining('https://') };
    expect(one).toMatchObject({ state: 'processing', payment: opened });
    expect(two).toEqual(one);
    await clock.pass(2 * SECOND);
    expect(await other.checkout('17', page)).toMatchObject({ payment: opened });
    expect(posts).toHaveLength(1);
  });

  test('returns without the address after the timeout, and at close', async () => {
    const { first, other, start } = await openSlowly({ timeout: SECOND });
    const closed = start();
    const presses = [other.checkout('17', page), closed.orders.checkout('17', page)];
    await sleep(100);
    closed.payments.close();
    for (const status of await Promise.all(presses)) {
      expect(status).toMatchObject({ state: 'processing', payment: { method: 'checkout' } });
      expect(status).not.toHaveProperty('payment.checkout_url');
    }
    await first;
  });

  test('rejects with the reason of the signal', async () => {
    const { first, other } = await openSlowly();
    const leaving = new AbortController();
    const press = catchError(other.checkout('17', page, { signal: leaving.signal }));
    leaving.abort('gone');
    expect(await press).toBe('gone');
    await first;
  });

  test('has no page of another payment', async () => {
    const { first, other } = await openSlowly();
    const momoPayment = { key: '17/2', method: 'mobile_money' };
    const pressing = other.charge('17', momo, another);
    const opened = await first;
    expect(await pressing).toMatchObject({ state: 'processing', payment: momoPayment });
    expect(opened).toMatchObject({
      state: 'processing',
      payments: [{ checkout_url: expect.any(String) }, {}],
    });
    expect(opened).not.toHaveProperty('payment.checkout_url');
  });
});

describe('a page whose address holds the email of the customer', () => {
  const openLeaking = () =>
    world({
      async respond({ method }, handle) {
        if (method === 'GET') return undefined;
        const { data } = await (await handle()).json();
        await sleep(SECOND);
        const checkout_url = `${data.checkout_url}?email=${EMAIL}`;
        return Response.json(successBodies.initialize({ ...data, checkout_url }));
      },
    });
  const address = expect.stringContaining(EMAIL);

  test('is returned once, is not recorded, and is not joined', async () => {
    const { shop, store, clock, posts } = openLeaking();
    const { checkout } = shop.orders;
    expect(await checkout('17', page)).toMatchObject({
      ...{ state: 'processing', payment: { key: '17/1', checkout_url: address } },
      payments: [{ checkout_url: address }],
    });
    expect(JSON.stringify(await store.read('order 17'))).not.toContain(EMAIL);
    await clock.pass(2 * SECOND);
    const second = await checkout('17', page);
    expect(second).toMatchObject({ ...underWay, differs: true });
    expect(second).not.toHaveProperty('payment.checkout_url');
    const opened = { payment: { key: '17/2', checkout_url: address } };
    expect(await checkout('17', page, another)).toMatchObject(opened);
    expect(posts).toHaveLength(2);
  });

  test('is returned to the press that opened it alone', async () => {
    const { shop, start, posts } = openLeaking();
    const presses = [shop, start()].map(({ orders }) => orders.checkout('17', page));
    const [opened, other] = await Promise.all(presses);
    expect(opened).toMatchObject({ payment: { key: '17/1', checkout_url: address } });
    expect(other).toMatchObject({ ...underWay, differs: true });
    expect(posts).toHaveLength(1);
  });
});

describe('while a payment is under way', () => {
  test.each([
    ['number', otherNumber],
    ['network', { ...momo, network: 'telecel' as const }],
    ['amount', dearer],
    ['currency', { ...momo, currency: 'USD' }],
    ['method', undefined],
  ])('a press with another %s differs, and sends nothing', async (_, input) => {
    const { charge, checkout, posts } = await begin();
    const pressed = await (input ? charge('17', input) : checkout('17', page));
    expect(pressed).toMatchObject({ ...underWay, differs: true });
    expect(pressed).not.toHaveProperty('error');
    expect(posts).toHaveLength(1);
  });

  test('takes another email, and another form of the number, for the same', async () => {
    const { charge, posts } = await begin();
    const input = { ...momo, customer_email: 'kofi@example.com', phone: momo.phone.replaceAll(' ', '-') };
    const status = await charge('17', input, another);
    expect(status).toMatchObject(underWay);
    expect(status).not.toHaveProperty('differs');
    expect(posts).toHaveLength(1);
  });

  test.each([{}, another])('invalid input differs with an error, and sends nothing: %o', async (options) => {
    const { charge, requests } = await begin();
    const pressed = { ...underWay, differs: true, error: expect.any(InvalidInputError) };
    expect(await charge('17', invalid, options)).toMatchObject(pressed);
    expect(requests).toEqual([MOMO]);
  });

  test('a closed client returns it with an error, and writes nothing', async () => {
    const writes: string[] = [];
    const store = wrapStore(memoryStore(), ({ method, key }, run) => {
      if (method !== 'read') writes.push(`${method} ${key}`);
      return run();
    });
    const { charge, shop, requests } = await begin({ store });
    await shop.payments.close();
    writes.length = 0;
    const status = await charge('17', momo);
    expect(status).toMatchObject({ ...underWay, error: expect.any(ClosedError) });
    expect(status).not.toHaveProperty('differs');
    const first = await charge('18', momo);
    expect(first).toMatchObject({ state: 'unpaid', canPay: true, error: expect.any(ClosedError) });
    expect(requests).toEqual([MOMO]);
    expect(writes).toEqual([]);
  });

  test('a client that closes during the check of a press returns it with an error', async () => {
    const { charge, checks, clock, shop, posts } = await begin({ respond: slow('GET', 5 * SECOND) });
    const pressing = charge('17', momo);
    const another = charge('17', otherNumber, { signal: new AbortController().signal });
    await clock.until(() => checks.length > 0);
    void shop.payments.close();
    expect(await pressing).toMatchObject({ ...underWay, error: expect.any(ClosedError) });
    const status = await another;
    expect(status).toMatchObject({ ...underWay, differs: true, error: expect.any(ClosedError) });
    expect('error' in status && status.error).toMatchObject({ outcome: 'not_sent' });
    expect(posts).toHaveLength(1);
  });

  test('a client that closes during the check of a press records the price that it asked for', async () => {
    const { charge, checks, clock, shop, service, start, paid } = await begin({
      respond: slow('GET', 5 * SECOND),
    });
    const pressing = charge('17', dearer);
    await clock.until(() => checks.length > 0);
    void shop.payments.close();
    expect(await pressing).toMatchObject({ ...underWay, differs: true, error: expect.any(ClosedError) });
    service.approve(service.charges[0]?.reference ?? '');
    await clock.pass(30 * SECOND);
    const { orders } = start();
    await orders.sweep();
    expect(paid).toEqual([]);
    expect(await orders.read('17')).toMatchObject({ state: 'in_review', reason: 'price_changed' });
  });

  test('a client that closes during the check of a press rejects nothing unhandled', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const { charge, checks, clock, shop } = await begin({ respond: slow('GET', 5 * SECOND) });
    const pressing = charge('17', momo);
    await clock.until(() => checks.length > 0);
    void shop.payments.close();
    expect(await pressing).toMatchObject(underWay);
    await clock.pass(SECOND);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('leaves no listener on a signal after its check', async () => {
    const { charge, checks } = await begin();
    const { signal } = new AbortController();
    await Promise.all([charge('17', otherNumber, { signal }), charge('17', dearer, { signal })]);
    expect(checks).not.toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a check without an answer begins nothing, until one has an answer', async () => {
    const { charge, service, posts } = await begin();
    service.fault('verify', { kind: 'status', status: 503 }, always);
    const same = await charge('17', momo);
    expect(same).toMatchObject(underWay);
    expect(same).not.toHaveProperty('error');
    expect(same).not.toHaveProperty('differs');
    const differs = { ...underWay, differs: true, error: expect.any(ServerError) };
    // A check that failed is not a check of the last second.
    for (const options of [{}, another, another])
      expect(await charge('17', otherNumber, options)).toMatchObject(differs);
    service.clearFaults();
    expect(await charge('17', otherNumber, another)).toMatchObject({ payment: { key: '17/2' } });
    expect(posts).toHaveLength(2);
  });

  test('has no error for invalid input once the order is paid or in review', async () => {
    const { charge, service, wait, reference } = await begin();
    service.approve(reference);
    await wait('17');
    service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await charge('18', momo);
    const [paid, inReview] = [await charge('17', invalid), await charge('18', invalid)];
    expect([paid, inReview]).toMatchObject([{ state: 'paid' }, { state: 'in_review', canPay: false }]);
    for (const name of ['error', 'differs'])
      for (const status of [paid, inReview]) expect(status).not.toHaveProperty(name);
  });
});

describe('after an earlier payment', () => {
  test('begins nothing while the check of an abandoned page fails', async () => {
    const { charge, service, posts } = await abandonPage();
    service.fault('verify', { kind: 'status', status: 503 }, { times: 2 });
    for (let presses = 0; presses < 2; presses++)
      expect(await charge('17', momo)).toMatchObject({ state: 'unpaid', error: expect.any(ServerError) });
    expect(await charge('17', momo)).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
    expect(posts).toHaveLength(2);
  });

  test('takes the payment that it asks for as the one under way, also if its check fails', async () => {
    const { charge, service, clock } = await begin();
    await charge('17', otherNumber, another);
    await clock.pass(2 * SECOND);
    service.fault('verify', { kind: 'status', status: 503 });
    const joined = await charge('17', momo);
    expect(joined).toMatchObject(underWay);
    expect(joined).not.toHaveProperty('differs');
  });

  test('leaves the latest of those that are under way, once its own has failed', async () => {
    const { charge, read, sweep, service, clock } = await begin();
    await charge('17', otherNumber, another);
    await clock.pass(2 * SECOND);
    service.decline(getReference(await charge('17', { ...momo, phone: '055 000 2222' }, another)));
    await clock.pass(10 * SECOND);
    await sweep();
    expect(await read('17')).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
  });

  test('at the price of two that are paid takes the first of them', async () => {
    const { charge, sweep, service, clock, reference } = await begin();
    const second = getReference(await charge('17', otherNumber, another));
    await clock.pass(2 * SECOND);
    await charge('17', dearer, another);
    for (const paid of [reference, second]) service.approve(paid);
    await clock.pass(10 * SECOND);
    await sweep();
    expect(await charge('17', momo)).toMatchObject({ state: 'paid', payment: { key: '17/1' } });
  });

  test('asks a slow service once', async () => {
    let slowest = 3;
    const respond = async () => {
      if (slowest-- > 0) await sleep(1.5 * SECOND);
      return undefined;
    };
    const { charge, checks } = await begin({ respond });
    expect(await charge('17', otherNumber)).toMatchObject({ ...underWay, differs: true });
    expect(checks).toHaveLength(1);
  });

  test('checks the ten latest before the next one', async () => {
    const { shop, service, clock, checks } = world();
    const references: string[] = [];
    for (let number = 1; number <= 11; number++) {
      const reference = getReference(await shop.orders.checkout('17', page));
      references.push(reference);
      service.abandon(reference);
      await clock.pass(2 * SECOND);
      await shop.orders.wait('17');
      await clock.pass(2 * SECOND);
    }
    service.approve(references.at(-1) ?? '');
    checks.length = 0;
    expect(await shop.orders.charge('17', momo)).toMatchObject({ state: 'paid', payment: { key: '17/11' } });
    expect(checks.map(({ reference }) => reference).toSorted()).toEqual(references.slice(1));
  });
});

describe('names', () => {
  test('keeps the orders a and a/1 apart', async () => {
    const { shop } = world();
    const { charge, read } = shop.orders;
    await charge('a', momo);
    await charge('a/1', momo);
    expect(await read('a')).toMatchObject({ payments: [{ key: 'a/1' }] });
    expect(await read('a/1')).toMatchObject({ payments: [{ key: 'a/1/1' }] });
  });

  test('tells an order from a key of the same name', async () => {
    const { shop, journal, posts } = world();
    const plain = await shop.payments.chargeMobileMoney(momo, { idempotencyKey: '17/1' });
    const reference = getReference(await shop.orders.charge('17', momo));
    expect(reference).not.toBe(plain.reference);
    expect(posts).toHaveLength(2);
    await expect(journal.read('17/1')).rejects.toThrow('fits two');
    expect(await journal.read('order 17/1')).toMatchObject({ reference });
  });
});

describe('an API key that the service refuses', () => {
  const refused = { kind: 'status', status: 401 } as const;

  test.each([
    ['charge', 'chargeMobileMoney', momo],
    ['checkout', 'initialize', page],
  ] as const)('is thrown by %s, and the next press pays', async (method, operation, input) => {
    const { shop, service, journal, posts } = world();
    const press = () => Reflect.apply(shop.orders[method], undefined, ['17', input]);
    service.fault(operation, refused);
    expect(await catchError(press())).toBeInstanceOf(AuthenticationError);
    expect(await journal.read('17/1')).toMatchObject({ state: 'rejected' });
    expect(await press()).toMatchObject(underWay);
    expect(posts).toHaveLength(2);
  });

  test('is thrown if it shows in a check before a press or in a wait', async () => {
    const { charge, wait, read, service, posts, reference } = await begin();
    service.fault('verify', refused, { times: 3 });
    for (const call of [
      () => charge('17', otherNumber),
      () => charge('17', otherNumber, another),
      () => wait('17'),
    ])
      expect(await catchError(call())).toBeInstanceOf(AuthenticationError);
    expect(posts).toEqual([MOMO]);
    expect(await read('17')).toMatchObject(underWay);
    service.approve(reference);
    expect(await wait('17')).toMatchObject({ state: 'paid' });
  });
});

describe('a journal that fails', () => {
  test('rejects if it does not take that no charge was made', async () => {
    let isDown = false;
    const store = wrapStore(memoryStore(), ({ method }, run) =>
      isDown && method === 'write' ? Promise.reject(new Error('read only')) : run(),
    );
    const { shop, clock } = world({
      store,
      respond() {
        isDown = true;
        throw connectionRefused;
      },
    });
    const message = expect.stringContaining('No charge was made');
    const failure = { code: 'journal_error', retryable: true, message };
    expect(await catchError(shop.orders.charge('17', momo))).toMatchObject(failure);
    isDown = false;
    await clock.pass(5 * SECOND);
    expect(await shop.orders.read('17')).toMatchObject({ state: 'unpaid', canPay: true });
  });

  test('rejects if the claim took a whole lease', async () => {
    const store = wrapStore(memoryStore(), async ({ method }, run) => {
      if (method === 'write') await sleep(10.5 * SECOND);
      return await run();
    });
    const { shop, requests } = world({ store });
    const failure = { code: 'journal_error', outcome: 'not_sent', retryable: true };
    expect(await catchError(shop.orders.charge('17', momo))).toMatchObject(failure);
    expect(requests).toEqual([]);
  });
});
