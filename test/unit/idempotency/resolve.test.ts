/** What a person can decide about a key, and what stays as it is. The plain cases are in test/promises/review.test.ts. */

import { expect, test } from 'vitest';
import type { Resolution, ResolutionNote } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { sleep } from '../../helpers/clock.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { API_KEY, catchError, EMAIL, PHONE, successBodies } from '../../helpers/service.ts';
import { momo, type ProcessOptions, type Respond, SECOND, type World, world } from '../../helpers/world.ts';

const other = { idempotencyKey: 'order-18' };
const always = { times: Number.POSITIVE_INFINITY };

/** The responses to the charges of two keys were lost: `order-17` is `one`, and `order-18` is `two`. */
async function loseTwo(options: ProcessOptions & { respond?: Respond } = {}) {
  const begun = world(options);
  const { payments } = begun.shop;
  begun.service.fault('chargeMobileMoney', { kind: 'responseLost' }, { times: 2 });
  await catchError(charged(payments));
  await catchError(charged(payments, other));
  const [one = '', two = ''] = begun.service.charges.map(({ reference }) => reference);
  /** Makes a charge without a key, as a person finds one at the service. */
  const make = async () => (await payments.chargeMobileMoney(momo, { idempotencyKey: null })).reference;
  return { ...begun, payments, one, two, make };
}

async function expectRefused(call: Promise<unknown>, message: string, name = 'JournalError'): Promise<void> {
  const failure = await catchError(call);
  expect(failure).toMatchObject({ name, message: expect.stringContaining(message) });
}

test('a key that got its reference is replayed, and no longer listed', async () => {
  const { payments, journal, one, posts, events } = await loseTwo();
  expect(await listKeys(journal, { state: 'unknown' })).toEqual([KEY, 'order-18']);
  expect(await journal.count()).toEqual({ records: 2, attention: 2 });
  const resolved = await payments.resolve(KEY, { reference: one }, note);
  expect(resolved).toMatchObject({
    ...{ key: KEY, state: 'completed', reference: one },
    resolutions: [{ ...note, resolution: { reference: one }, at: expect.any(Number) }],
  });
  expect(await charged(payments)).toEqual({
    ...{ reference: one, status: 'processing', amount: '25.50', currency: 'GHS' },
    ...{ message: '', replayed: true },
  });
  expect(posts).toHaveLength(2);
  expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-18']);
  expect(await journal.count()).toEqual({ records: 2, attention: 1 });
  // It is one event, also if it is said twice.
  await payments.resolve(KEY, { reference: one }, note);
  const about = { operation: 'chargeMobileMoney', idempotencyKey: KEY, reference: one };
  expect(events.filter(({ type }) => type === 'resolved')).toEqual([
    { type: 'resolved', result: 'charged', ...about, by: note.by },
  ]);
});

/** The service has each transaction, whatever its reference is. */
const haveAll: Respond = ({ method, url }) =>
  method === 'GET'
    ? Response.json(successBodies.verify({ reference: url.slice(url.lastIndexOf('/') + 1) }))
    : undefined;

test.for([
  ['', true, 'TXN-2', 'TXN-2'],
  [' in other case', true, 'TXN-aB', 'TXN-Ab'],
  [', if the store has no lists', false, 'TXN-2', 'TXN-2'],
] as const)("refuses another key's reference%s", async ([, canList, taken, asked]) => {
  const { read, write, ...lists } = memoryStore();
  const store = { read, write, ...(canList ? lists : {}) };
  const { payments, journal } = await loseTwo({ respond: haveAll, store });
  await payments.resolve('order-18', { reference: taken }, note);
  await expectRefused(
    payments.resolve(KEY, { reference: asked }, note),
    'one transaction cannot pay for two',
  );
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
});

test('changes nothing while the service is down', async () => {
  const { payments, journal, service, one } = await loseTwo();
  service.fault('verify', { kind: 'reset' });
  const failure = await catchError(payments.resolve(KEY, { reference: one }, note));
  expect(failure).toMatchObject({ name: 'ConnectionError', outcome: null });
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
});

test('overrules nothing that the service returned', async () => {
  const { payments, journal, one } = await loseTwo();
  const { reference } = await charged(payments, { idempotencyKey: 'order-19' });
  for (const resolution of [{ reference: one }, 'not_charged', 'closed'] as const)
    await expectRefused(
      payments.resolve('order-19', resolution, note),
      'There is nothing to resolve about it',
    );
  expect(await journal.read('order-19')).toMatchObject({ state: 'completed', reference, resolutions: [] });
});

test('refuses not_charged if the service has what an error named', async () => {
  const { shop, journal } = world({
    respond: (request, handle) =>
      request.method === 'GET'
        ? haveAll(request, handle)
        : Response.json({ error: 'TXN-7 was accepted' }, { status: 502 }),
  });
  await catchError(charged(shop.payments));
  expect(await journal.read(KEY)).toMatchObject({
    ...{ reference: 'TXN-7', error: { code: 'server_error', status: 502 } },
  });
  const deny = () => shop.payments.resolve(KEY, 'not_charged', note);
  await expectRefused(deny(), 'The service has the transaction that was named');
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  await shop.payments.resolve(KEY, 'closed', note);
  await expectRefused(deny(), '');
  expect(await journal.read(KEY)).toMatchObject({
    ...{ state: 'closed', reference: 'TXN-7', resolutions: [{ resolution: 'closed' }] },
  });
});

test('a mistaken reference is replaced, also if the store deletes nothing', async () => {
  const { read, write } = memoryStore();
  const { payments, journal, one } = await loseTwo({ store: { read, write } });
  await payments.resolve(KEY, { reference: one }, note);
  await payments.resolve(KEY, 'closed', note);
  expect(await journal.read(KEY)).toMatchObject({ state: 'closed' });
});

/** A key whose charge has another amount, and then this one. */
async function startMismatch(amount = '2.55') {
  const begun = world();
  begun.service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '2.55' });
  begun.service.fault('verify', { kind: 'wrongAmount', amount }, always);
  const { payments } = begun.shop;
  expect(await catchError(charged(payments))).toMatchObject({ code: 'transaction_mismatch' });
  const reference = begun.service.charges[0]?.reference ?? '';
  return { ...begun, payments, reference };
}

test.for([{ amount: '25.49' }, { currency: 'NGN' }])(
  'a transaction with %o is taken, and listed',
  async (facts) => {
    const reference = 'TXN-5';
    const { payments, journal } = await loseTwo({
      respond: ({ method }) =>
        method === 'GET' ? Response.json(successBodies.verify({ reference, ...facts })) : undefined,
    });
    const entry = await payments.resolve(KEY, { reference }, note);
    expect(entry).toMatchObject({ state: 'completed', reference, attention: 'mismatch' });
    expect(await catchError(charged(payments))).toMatchObject({ code: 'transaction_mismatch' });
    expect(await journal.count()).toEqual({ records: 2, attention: 2 });
  },
);

test('another amount is accepted once the service says success', async () => {
  const { payments, journal, service, reference, events, posts } = await startMismatch();
  const before = (await journal.read(KEY))?.revision;
  await expectRefused(
    payments.resolve(KEY, 'accepted', note),
    '"accepted" does not fit this payment. Nothing was changed.',
  );
  expect(await journal.read(KEY)).toMatchObject({ attention: 'mismatch', resolutions: [] });
  service.approve(reference);
  // The check has changed what was shown before it.
  await expectRefused(payments.resolve(KEY, 'closed', { ...note, revision: before }), 'changed meanwhile');
  expect(await payments.resolve(KEY, 'accepted', note)).toMatchObject({
    ...{ state: 'completed', reference, status: 'success', attention: undefined },
    resolutions: [{ ...note, resolution: 'accepted' }],
  });
  expect(events.at(-1)).toMatchObject({ type: 'resolved', result: 'charged', reference });
  expect(await journal.count()).toEqual({ records: 1, attention: 0 });
  await expectRefused(payments.resolve(KEY, 'closed', note), '');
  expect(posts).toHaveLength(1);
});

test('a transaction with another amount than the person saw is not accepted', async () => {
  const { payments, journal, service, reference } = await startMismatch('2.50');
  service.approve(reference);
  const late = { ...note, revision: (await journal.read(KEY))?.revision };
  await expectRefused(payments.resolve(KEY, 'accepted', late), 'changed meanwhile');
  expect(await journal.read(KEY)).toMatchObject({ attention: 'mismatch', resolutions: [] });
  expect(await payments.resolve(KEY, 'accepted', note)).toMatchObject({ attention: undefined });
});

test('persons do not overrule each other while the service is asked', async () => {
  const reference = 'TXN-5';
  let meanwhile = async () => {};
  const { shop, journal } = world({
    async respond({ method }) {
      const fields = { reference, amount: '2.55' };
      if (method === 'POST') return Response.json(successBodies.chargeMobileMoney(fields));
      await meanwhile();
      return Response.json(successBodies.verify(fields));
    },
  });
  await catchError(charged(shop.payments));
  await shop.payments.check(reference);
  meanwhile = async () => void (await journal.resolve(KEY, 'closed', { ...note, by: 'ama@shop.example' }));
  await expectRefused(shop.payments.resolve(KEY, 'accepted', note), 'changed meanwhile by ama@shop.example');
  expect(await journal.read(KEY)).toMatchObject({ state: 'closed', resolutions: [{ resolution: 'closed' }] });
});

test('what is closed is not charged or followed, and can be accepted', async () => {
  const { payments, journal, service, reference, events, posts } = await startMismatch();
  expect(await payments.resolve(KEY, 'closed', note)).toMatchObject({ state: 'closed', reference });
  expect(events.at(-1)).toMatchObject({ type: 'resolved', result: 'closed', reference });
  const failure = await catchError(charged(payments));
  expect(failure).toMatchObject({ code: 'outcome_unknown', outcome: 'unknown', reference });
  expect(String(failure)).toContain('closed key');
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  const changed = payments.chargeMobileMoney({ ...momo, amount: 40 }, { idempotencyKey: KEY });
  expect(await catchError(changed)).toMatchObject({ code: 'idempotency_conflict' });
  expect(posts).toHaveLength(1);
  expect(await journal.count()).toEqual({ records: 1, attention: 0 });
  expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
  await expectRefused(payments.resolve(KEY, 'not_charged', note), '');
  service.approve(reference);
  const { resolutions } = await payments.resolve(KEY, 'accepted', note);
  expect(resolutions.map(({ resolution }) => resolution)).toEqual(['closed', 'taken_back', 'accepted']);
});

/** The order `order-17` has one payment, beside the keys of {@link loseTwo}. */
async function startOrder() {
  const lost = await loseTwo();
  const { payments } = await lost.shop.orders.charge(KEY, momo);
  return { ...lost, orders: lost.shop.orders, own: payments[0]?.reference };
}

test('an order gets a transaction that belongs to it, once', async () => {
  const { payments, journal, orders, own, make } = await startOrder();
  const reference = await make();
  const named = `order ${KEY}`;
  for (const time of [1, 2])
    expect(await payments.resolve(named, { reference }, note), `${time}`).toMatchObject({
      ...{ key: `${KEY}/2`, state: 'completed', reference, attempts: 0 },
    });
  expect((await orders.read(KEY)).payments).toMatchObject([{ reference: own }, { reference }]);
  for (const resolution of ['closed', 'not_charged'] as const)
    await expectRefused(journal.resolve(named, resolution, note), 'name one of its payments');
});

test('an order gets no transaction of a key, and lists nothing of that', async () => {
  const { payments, journal, orders, own, two } = await startOrder();
  await payments.resolve('order-18', { reference: two }, note);
  const wrong = payments.resolve(`order ${KEY}`, { reference: two }, note);
  await expectRefused(wrong, 'one transaction cannot pay for two');
  expect((await orders.read(KEY)).payments).toMatchObject([{ reference: own }, { key: `${KEY}/2` }]);
  expect(await journal.read(`${KEY}/2`)).toMatchObject({ state: 'closed', attention: undefined });
});

/** The service gives each charge the transaction of the first, now in lower case. */
function startSuppressing(): World {
  let count = 0;
  return world({
    respond: ({ method }) => {
      const reference = ++count === 1 ? 'TXN-8F2C' : 'TXN-8f2c';
      return Response.json(successBodies[method === 'POST' ? 'chargeMobileMoney' : 'verify']({ reference }));
    },
  });
}

test('a key whose transaction another one has is unknown, until resolved', async () => {
  const { shop, journal, events, requests } = startSuppressing();
  await charged(shop.payments);
  const failure = await catchError(charged(shop.payments, other));
  const shared = { reference: 'TXN-8f2c', outcome: 'unknown', idempotencyKey: 'order-18' };
  expect(failure).toMatchObject({ code: 'outcome_unknown', ...shared });
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  expect(events.at(-1)).toMatchObject({ type: 'journal', result: 'unresolved', reference: 'TXN-8f2c' });
  expect(await journal.read('order-18')).toMatchObject({
    ...{ state: 'unknown', reference: 'TXN-8f2c', attention: 'shared_reference' },
  });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed' });
  expect(await catchError(charged(shop.payments, other))).toMatchObject({ outcome: 'unknown' });
  expect(requests).toHaveLength(2);
  expect(await listKeys(journal, { reference: 'TXN-8F2C' })).toEqual([KEY]);
  const taking = shop.payments.resolve('order-18', { reference: 'TXN-8f2c' }, note);
  await expectRefused(taking, 'one transaction cannot pay for two');
  const freed = await shop.payments.resolve('order-18', 'not_charged', note);
  expect(freed).toMatchObject({ state: 'not_charged' });
});

test('refuses a resolution while the process that began the key sends', async () => {
  const { shop, journal, service, clock } = world({
    async respond({ method }, handle) {
      if (method !== 'POST') return undefined;
      const response = await handle();
      await sleep(3 * SECOND);
      return response;
    },
  });
  const call = charged(shop.payments);
  await clock.pass(SECOND);
  const reference = service.charges[0]?.reference ?? '';
  for (const resolution of [{ reference }, 'not_charged'] as const)
    expect(await catchError(shop.payments.resolve(KEY, resolution, note))).toMatchObject({
      ...{ name: 'JournalError', retryable: true },
    });
  expect(await call).toMatchObject({ reference });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [] });
});

test.for<[what: string, name: string, options: ProcessOptions]>([
  ['without a journal', 'ConfigurationError', { client: { journal: undefined } }],
  [
    'whose store throws',
    'JournalError',
    { store: { ...memoryStore(), read: () => Promise.reject(new Error('postgres://user:secret-9@db')) } },
  ],
])('a client %s resolves nothing', async ([, name, options]) => {
  await expectRefused(world(options).shop.payments.resolve(KEY, 'not_charged', note), '', name);
});

test.each([
  ['a reference that is none', { reference: 'order-17' }, note],
  ['no reason', 'not_charged', { ...note, reason: '' }],
] as const)('%s says nothing about the money', async (_what, resolution, given) => {
  const { payments } = await loseTwo();
  const failure = await catchError(payments.resolve(KEY, resolution, given));
  expect(failure).toMatchObject({ name: 'ConfigurationError', outcome: null });
});

test('a closed client resolves nothing', async () => {
  const { payments } = await loseTwo();
  void payments.close();
  await expectRefused(payments.resolve(KEY, 'not_charged', note), '', 'ClosedError');
});

test('stores no phone number, email of a customer or API key of a note', async () => {
  const { payments, journal } = await loseTwo();
  const given: ResolutionNote = {
    by: `kofi ${API_KEY}`,
    reason: `called ${PHONE} and ${EMAIL} with ${API_KEY}`,
  };
  await payments.resolve(KEY, 'not_charged', given);
  const text = JSON.stringify(await journal.read(KEY));
  for (const secret of [PHONE, EMAIL, API_KEY]) expect(text).not.toContain(secret);
});

test.for<[what: string, (reference: string) => Resolution, end: object]>([
  [
    'its checkout_url is replayed with it',
    (reference) => ({ reference, checkout_url: `https://pay.example/checkout/${reference}` }),
    { replayed: true, checkout_url: expect.stringContaining('https://pay.example/checkout/TXN-') },
  ],
  ['no checkout_url is not replayed', (reference) => ({ reference }), { code: 'outcome_unknown' }],
])('a checkout payment that was resolved with %s', async ([, resolve, end]) => {
  const { shop, service, posts } = world();
  service.fault('initialize', { kind: 'responseLost' });
  const open = () =>
    shop.payments
      .initialize({ amount: '25.50', customer_email: EMAIL }, { idempotencyKey: KEY })
      .catch((error: unknown) => error);
  await open();
  const reference = service.transactions[0]?.reference ?? '';
  await shop.payments.resolve(KEY, resolve(reference), note);
  expect(await open()).toMatchObject({ reference, ...end });
  expect(posts).toHaveLength(1);
});

test.each(['timeout', 'signal'])('the check of a resolution follows its %s', async (what) => {
  const person = new AbortController();
  const { payments, one, clock, journal } = await loseTwo({
    respond: ({ method }) => {
      if (method !== 'GET') return undefined;
      if (what === 'signal') person.abort(new Error('the person has left'));
      return new Promise(() => {});
    },
  });
  const begun = clock.now;
  const limits = { maxRetries: 0, timeout: SECOND, signal: person.signal };
  const failure = await catchError(payments.resolve(KEY, { reference: one }, { ...note, ...limits }));
  expect(failure).toMatchObject(
    what === 'timeout' ? { code: 'request_timeout' } : { message: 'the person has left' },
  );
  expect(clock.now - begun).toBe(what === 'timeout' ? SECOND : 0);
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
});
