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
import {
  getReference,
  MINUTE,
  momo,
  type ProcessOptions,
  type Respond,
  SECOND,
  type World,
  world,
} from '../../helpers/world.ts';

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

test('a key that was freed keeps its history', async () => {
  const { payments, journal } = await loseTwo();
  expect(await payments.resolve(KEY, 'not_charged', note)).toMatchObject({ state: 'not_charged' });
  const { reference } = await charged(payments);
  expect(await journal.read(KEY)).toMatchObject({
    ...{ state: 'completed', reference, attempts: 2 },
    requestIds: [expect.any(String), expect.any(String)],
    resolutions: [{ ...note, resolution: 'not_charged' }],
  });
});

test.for<[what: string, resolution: unknown, name: string]>([
  ['a reference that does not exist', { reference: 'TXN-404' }, 'JournalError'],
  ['a reference in lower case', { reference: 'txn-1' }, 'ConfigurationError'],
  ['a reference with a path', { reference: 'TXN-1/../2' }, 'ConfigurationError'],
  ['a boolean', true, 'ConfigurationError'],
  ['another word', 'charged', 'ConfigurationError'],
])('refuses to resolve a key with %s, and changes nothing', async ([, resolution, name]) => {
  const { payments, journal } = await loseTwo();
  const before = await journal.read(KEY);
  const failure = await catchError(Reflect.apply(payments.resolve, payments, [KEY, resolution, note]));
  expect(failure).toMatchObject({ name, retryable: false });
  expect({ ...(await journal.read(KEY)), updatedAt: 0 }).toEqual({ ...before, updatedAt: 0 });
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

test('refuses the reference of a key that was charged', async () => {
  const { payments } = await loseTwo();
  const { reference } = await charged(payments, { idempotencyKey: 'order-19' });
  await expectRefused(payments.resolve(KEY, { reference }, note), 'one transaction cannot pay for two');
});

test('changes nothing while the service is down', async () => {
  const { payments, journal, service, one } = await loseTwo();
  service.fault('verify', { kind: 'reset' });
  const failure = await catchError(payments.resolve(KEY, { reference: one }, note));
  expect(failure).toMatchObject({ name: 'ConnectionError', outcome: null });
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
});

test('refuses a key without a record', async () => {
  await expectRefused(world().shop.payments.resolve(KEY, 'closed', note), KEY);
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
  expect(await journal.read(KEY)).toMatchObject({ state: 'closed', resolutions: [{ resolution: 'closed' }] });
});

test('of several persons at once, one counts', async () => {
  const { payments, journal } = await loseTwo({ respond: haveAll });
  const results = await Promise.allSettled(
    ['TXN-11', 'TXN-12', 'TXN-13'].map((reference) => payments.resolve(KEY, { reference }, note)),
  );
  const entry = await journal.read(KEY);
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(entry?.resolutions).toMatchObject([{ resolution: { reference: entry?.reference } }]);
});

test('refuses a person who decided on what was shown before', async () => {
  const { payments, journal, one, make } = await loseTwo();
  const { revision } = (await journal.read(KEY)) ?? {};
  const late = { ...note, revision };
  await payments.resolve(KEY, { reference: one }, { ...note, by: 'ama@shop.example' });
  const reference = await make();
  await expectRefused(payments.resolve(KEY, { reference }, late), 'changed meanwhile by ama@shop.example');
  // The same resolution twice is harmless.
  expect(await payments.resolve(KEY, { reference: one }, late)).toMatchObject({ reference: one });
});

test('a mistake is resolved again, and both stay in the history', async () => {
  const { payments, service, one, make } = await loseTwo();
  const wrong = await make();
  service.decline(wrong);
  await payments.resolve(KEY, { reference: wrong }, note);
  await payments.resolve(KEY, 'not_charged', note);
  const correction = { by: 'ama@shop.example', reason: 'the other order had no charge' };
  const entry = await payments.resolve(KEY, { reference: one }, correction);
  expect(entry.resolutions).toMatchObject([
    { resolution: { reference: wrong } },
    { resolution: 'taken_back' },
    { resolution: 'not_charged' },
    { resolution: 'taken_back' },
    { resolution: { reference: one }, ...correction },
  ]);
  // The wrong reference is free again.
  await payments.resolve('order-18', { reference: wrong }, note);
});

test('nothing that the service paid is taken back', async () => {
  const { payments, journal, service, one, two } = await loseTwo();
  service.approve(one);
  await payments.resolve(KEY, { reference: one }, note);
  await expectRefused(payments.resolve(KEY, 'not_charged', note), 'This payment pays its order: that stands');
  for (const resolution of ['not_charged', 'closed', { reference: two }] as const)
    await expectRefused(journal.resolve(KEY, resolution, note), '');
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [{ resolution: {} }] });
});

test('a key that was closed takes a reference after all', async () => {
  const { payments, one } = await loseTwo();
  await payments.resolve(KEY, 'closed', note);
  const { state, resolutions } = await payments.resolve(KEY, { reference: one }, note);
  expect(state).toBe('completed');
  expect(resolutions.map(({ resolution }) => resolution)).toEqual([
    'closed',
    'taken_back',
    { reference: one },
  ]);
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

test('a payment gets no transaction of another payment of its order', async () => {
  const { shop, journal, service, clock } = world();
  const { orders, payments } = shop;
  const reference = getReference(await orders.charge('17', momo));
  service.decline(reference);
  await clock.pass(MINUTE);
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await orders.charge('17', momo);
  await expectRefused(payments.resolve('17/2', { reference }, note), '17/1');
  expect(await journal.read('17/2')).toMatchObject({ state: 'unknown', resolutions: [] });
});

test('an order is told from a key of its name, and its payment from one', async () => {
  const { payments, journal, own, one } = await startOrder();
  const ambiguous = `fits two. Name it "order ${KEY}" or "key ${KEY}"`;
  await expectRefused(payments.resolve(KEY, { reference: one }, note), ambiguous);
  await charged(payments, { idempotencyKey: `${KEY}/1` });
  await expectRefused(journal.read(`${KEY}/1`), `fits two. Name it "order ${KEY}/1" or "key ${KEY}/1"`);
  expect(await journal.read(`order ${KEY}/1`)).toMatchObject({ reference: own });
  expect(await payments.resolve(`key ${KEY}`, { reference: one }, note)).toMatchObject({ key: KEY });
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

test('a key is unresolved if a person gave its transaction to another one', async () => {
  let give = async () => {};
  const { payments, journal, service } = await loseTwo({
    async respond({ method }, handle) {
      if (method !== 'POST') return undefined;
      const response = await handle();
      await give();
      return response;
    },
  });
  const findReference = () => service.charges[2]?.reference ?? '';
  give = async () => void (await payments.resolve(KEY, { reference: findReference() }, note));
  const failure = await catchError(charged(payments, { idempotencyKey: 'order-19' }));
  expect(failure).toMatchObject({ code: 'outcome_unknown', reference: findReference() });
  expect(await journal.read('order-19')).toMatchObject({ state: 'unknown', attention: 'shared_reference' });
});

test.for<[given: unknown, message: string]>([
  [{ by: '', reason: 'x' }, 'by must be text'],
  [{ by: 'kofi' }, 'reason must be text'],
  [{ by: 'kofi', reason: 'two\nlines' }, 'reason must be text'],
  [{ by: 'k'.repeat(201), reason: 'x' }, 'by must be text of 1 to 200'],
  [undefined, 'A resolution needs { by, reason }'],
  [{ ...note, becuase: 1 }, 'becuase'],
])('refuses a resolution with the note %o', async ([given, message]) => {
  const { payments, journal } = await loseTwo();
  const call = Reflect.apply(payments.resolve, payments, [KEY, 'not_charged', given]);
  await expectRefused(call, message, 'ConfigurationError');
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
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
