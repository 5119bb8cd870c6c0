/** Which keys are taken, what a client with a journal asks for, and what frees a key. */

import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { charged, KEY, keyed, posts as operations, replayOf } from '../../helpers/keyed-calls.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { connectionRefused, momo, type Process, type Respond, world } from '../../helpers/world.ts';
import { betweenClaimAndRequest, failWrite, interceptWrites } from './interrupted-calls.ts';

/** As JavaScript can pass them. */
const untyped = <Options>(options: object): Options => Object(options);

test.for<[what: string, idempotencyKey: unknown]>([
  ['empty', ''],
  ['of 256 characters', 'k'.repeat(256)],
  ['with a line break', 'order\n17'],
  ['with a NUL', 'order\u0000'],
  ['with half a character', 'order-\ud83d'],
  ['a number', 17],
  ['an object', { key: KEY }],
])('refuses a key that is %s, and records nothing', async ([, idempotencyKey]) => {
  const { shop, journal, requests } = world();
  for (const operation of operations) {
    const failure = await catchError(keyed[operation](shop.payments, untyped({ idempotencyKey })));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
  }
  expect(await listKeys(journal)).toEqual([]);
  expect(requests).toEqual([]);
});

test.for(['o', 'order 17/β-✓ 😀', 'k'.repeat(255), '__proto__', '{"$":1}', "'; DROP TABLE orders --"])(
  'takes the key %s',
  async (idempotencyKey) => {
    const { shop, journal, posts } = world();
    const first = await charged(shop.payments, { idempotencyKey });
    expect(await charged(shop.payments, { idempotencyKey })).toEqual(replayOf(first));
    expect(posts).toHaveLength(1);
    expect(await listKeys(journal)).toEqual([idempotencyKey]);
  },
);

const charge = ({ payments }: Process, options?: object) =>
  Reflect.apply(payments.chargeMobileMoney, payments, [momo, options]);

const refusals: [what: string, hasJournal: boolean, (shop: Process) => Promise<unknown>][] = [
  ['a charge without options', true, (shop) => charge(shop)],
  ['a charge with other options alone', true, (shop) => charge(shop, { timeout: 5_000 })],
  [
    'a charge with an undefined key',
    true,
    (shop) => charge(shop, { idempotencyKey: undefined, timeout: 5_000 }),
  ],
  [
    'a page with an undefined key',
    true,
    ({ payments }) => keyed.initialize(payments, untyped({ idempotencyKey: undefined })),
  ],
  ['an undefined key without a journal', false, (shop) => charge(shop, { idempotencyKey: undefined })],
  [
    'a page with an undefined key without a journal',
    false,
    ({ payments }) => keyed.initialize(payments, untyped({ idempotencyKey: undefined })),
  ],
  ['a charge with a key without a journal', false, ({ payments }) => charged(payments)],
  ['a page with a key without a journal', false, ({ payments }) => keyed.initialize(payments)],
  ['a key for verify', true, ({ payments }) => payments.verify('TXN-1', untyped({ idempotencyKey: KEY }))],
  ['a key for check', true, ({ payments }) => payments.check('TXN-1', untyped({ idempotencyKey: KEY }))],
  [
    'a key for a wait',
    true,
    async ({ payments }) => payments.waitForFinalStatus('TXN-1', untyped({ idempotencyKey: KEY })),
  ],
];

test.for(refusals)('refuses %s, and sends nothing', async ([, hasJournal, call]) => {
  const { shop, journal, requests } = world({ client: hasJournal ? {} : { journal: undefined } });
  const failure = await catchError(call(shop));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ retryable: false });
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  expect(requests).toEqual([]);
  expect(await listKeys(journal)).toEqual([]);
});

test('the error of a missing key says what to give, or null', async () => {
  const { shop } = world();
  for (const options of [undefined, { idempotencyKey: undefined }])
    expect(await catchError(Promise.resolve().then(() => charge(shop, options)))).toMatchObject({
      ...{ operation: 'chargeMobileMoney', outcome: 'not_sent' },
      message: expect.stringMatching(/idempotencyKey.+Nothing was sent.+or null/),
    });
});

const hanging = () => new Promise<string>(() => {});

const unclaimed: [what: string, end: object, (shop: Process) => Promise<unknown>, client?: object][] = [
  [
    'an amount of 0',
    { code: 'invalid_input' },
    ({ payments }) => payments.chargeMobileMoney({ ...momo, amount: 0 }, { idempotencyKey: KEY }),
  ],
  [
    'an extra field of its own',
    { code: 'invalid_input' },
    ({ payments }) => charged(payments, { extraBody: { amount: 3 } }),
  ],
  ['a wrong timeout', { code: 'configuration_error' }, ({ payments }) => charged(payments, { timeout: -1 })],
  [
    'a signal that is aborted already',
    { message: 'the customer left' },
    ({ payments }) => charged(payments, { signal: AbortSignal.abort(new Error('the customer left')) }),
  ],
  [
    'a client that was closed before',
    { code: 'closed', outcome: 'not_sent' },
    ({ payments }) => {
      void payments.close();
      return charged(payments);
    },
  ],
  [
    'a client that is closed right after',
    { code: 'closed', outcome: 'not_sent', operation: 'chargeMobileMoney' },
    ({ payments }) => {
      const call = charged(payments);
      void payments.close();
      return call;
    },
  ],
  [
    'an apiKey function that fails',
    { code: 'configuration_error', outcome: 'not_sent', retryable: true },
    ({ payments }) => charged(payments),
    { apiKey: () => Promise.reject(new Error('no vault')) },
  ],
  [
    'an apiKey function that hangs until an abort',
    { message: 'the customer left' },
    ({ payments }) => {
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error('the customer left')), 100);
      return charged(payments, { signal: abort.signal });
    },
    { apiKey: hanging },
  ],
  [
    'an apiKey function that hangs until close',
    { code: 'closed', outcome: 'not_sent' },
    ({ payments }) => {
      setTimeout(() => void payments.close(), 100);
      return charged(payments);
    },
    { apiKey: hanging },
  ],
];

test.for(unclaimed)('records nothing for a call with %s', async ([, end, call, client = {}]) => {
  const store = memoryStore();
  let writes = 0;
  const write: typeof store.write = (...step) => {
    writes++;
    return store.write(...step);
  };
  const { shop, requests } = world({ store: { ...store, write }, client });
  expect(await catchError(call(shop))).toMatchObject(end);
  expect(requests).toEqual([]);
  expect(writes).toBe(0);
});

const refuseOnce = (status: number, body: object): Respond => {
  let count = 0;
  return () => (++count === 1 ? Response.json(body, { status }) : undefined);
};

// That each status is rejected or unknown is in test/unit/http/statuses.test.ts.
test.for([
  [422, { message: 'no' }],
  [200, { status: false, message: 'no' }],
] as const)('after %i %o a key is free, and sends again', async ([status, body]) => {
  for (const operation of operations) {
    const { shop, journal, posts } = world({ respond: refuseOnce(status, body) });
    expect(await catchError(keyed[operation](shop.payments))).toMatchObject({ outcome: 'rejected' });
    expect(await journal.read(KEY)).toMatchObject({ state: 'rejected' });
    expect(await keyed[operation](shop.payments)).toMatchObject({ replayed: false });
    expect(posts).toHaveLength(2);
  }
});

const unsent: [what: string, end: object, (abort: AbortController) => Parameters<typeof world>[0]][] = [
  [
    'no connection was made',
    { outcome: 'not_sent' },
    () => ({
      respond: () => {
        throw connectionRefused;
      },
    }),
  ],
  [
    'the apiKey function failed before a retry',
    { outcome: 'not_sent' },
    () => betweenClaimAndRequest(() => Promise.reject(new Error('no vault'))),
  ],
  [
    'it was aborted before a retry',
    { message: 'the customer left' },
    (abort) =>
      betweenClaimAndRequest(() => {
        abort.abort(new Error('the customer left'));
        return new Promise(() => {});
      }),
  ],
  [
    'it was aborted in the pause after a 429',
    { message: 'the customer left' },
    (abort) => ({
      client: { maxRetries: 2 },
      respond: () => {
        setTimeout(() => abort.abort(new Error('the customer left')), 1_000);
        return new Response('{}', { status: 429, headers: { 'retry-after': '25' } });
      },
    }),
  ],
];

test.for(unsent)('a key is free if %s', async ([, end, options]) => {
  const abort = new AbortController();
  const { shop, journal } = world(options(abort));
  expect(await catchError(charged(shop.payments, { signal: abort.signal }))).toMatchObject(end);
  expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
});

test('each request of a retried charge is recorded, and the key has one charge', async () => {
  const ids: (string | null)[] = [];
  const { shop, journal, service } = world({
    client: { maxRetries: 2 },
    respond: ({ headers }) => {
      ids.push(headers.get('x-request-id'));
      return ids.length < 3 ? new Response('{}', { status: 429 }) : undefined;
    },
  });
  const first = await charged(shop.payments);
  expect(await charged(shop.payments)).toEqual(replayOf(first));
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', attempts: 3, requestIds: ids });
  expect(service.charges).toHaveLength(1);
});

test('a retry is not sent that the journal does not record', async () => {
  let writes = 0;
  const { shop, posts } = world({
    ...betweenClaimAndRequest(() => {}),
    store: interceptWrites(memoryStore(), 'begun', (write) => (++writes === 1 ? write() : failWrite())),
  });
  expect(await catchError(charged(shop.payments))).toMatchObject({
    code: 'journal_error',
    outcome: 'not_sent',
  });
  // The first attempt, which got no connection. A lost claim does not come back.
  expect(posts).toHaveLength(1);
  expect(writes).toBe(2);
});

test.for<[string, () => unknown]>([
  ['a store', memoryStore],
  ['an object of that form', () => ({ read() {}, list() {}, count() {}, resolve() {}, prune() {} })],
  ['a copy of a journal', () => ({ ...memoryJournal() })],
  ['an object that inherits from a journal', () => Object.create(memoryJournal())],
  ['text', () => 'memory'],
  [
    'a journal of another version',
    () =>
      Object.defineProperty({}, Symbol.for('payment-collection-client.journal'), { value: { version: 2 } }),
  ],
])('a client refuses %s in place of a journal', ([, make]) => {
  expect(() => world({ client: Object({ journal: make() }) })).toThrow(ConfigurationError);
});
