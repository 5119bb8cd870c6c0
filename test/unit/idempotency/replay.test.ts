/** A key used again: with the same input its result is replayed, with other input it is a conflict. */

import { expect, onTestFinished, test, vi } from 'vitest';
import type { ChargeMobileMoneyInput, CreateOptions } from '../../../src/index.ts';
import { IdempotencyConflictError } from '../../../src/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts as operations, replayOf } from '../../helpers/keyed-calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE, successBodies } from '../../helpers/service.ts';
import { momo, type Process, type Respond, SECOND, slow, world } from '../../helpers/world.ts';

type Given = [input: Partial<ChargeMobileMoneyInput>, options?: Partial<CreateOptions>];

const send = ({ payments }: Process, [input, options]: Given = [{}]) =>
  payments.chargeMobileMoney({ ...momo, ...input }, { idempotencyKey: KEY, ...options });

const withExtra = (extraBody: Record<string, unknown>): Given => [{}, { extraBody }];

test.for<[what: string, Given, first?: Given]>([
  ['another amount', [{ amount: '25.51' }]],
  ['another phone', [{ phone: '024 412 3457' }]],
  ['another email', [{ customer_email: 'kofi@example.com' }]],
  ['another network', [{ network: 'telecel' }]],
  ['another currency', [{ currency: 'NGN' }]],
  ['an extra field', withExtra({ callback_url: 'https://shop.example' })],
  ['another value', withExtra({ meta: { order: 18 } }), withExtra({ meta: { order: 17 } })],
  ['a list for an object', withExtra({ meta: [['order', 17]] }), withExtra({ meta: { order: 17 } })],
  ['a list in another order', withExtra({ to: [2, 1] }), withExtra({ to: [1, 2] })],
  ['text for a number', withExtra({ to: '1' }), withExtra({ to: 1 })],
])('refuses %s under a used key, and sends nothing', async ([, other, first]) => {
  const { shop, posts } = world();
  await send(shop, first);
  const failure = await catchError(send(shop, other));
  expect(failure).toBeInstanceOf(IdempotencyConflictError);
  expect(failure).toMatchObject({
    ...{ operation: 'chargeMobileMoney', outcome: 'unknown', idempotencyKey: KEY, retryable: false },
  });
  expect(posts).toHaveLength(1);
});

const reordered = Object.fromEntries(Object.entries(momo).reverse());

test.for<[what: string, Given, first?: Given]>([
  ['fields in another order', [reordered]],
  ['the amount as a number', [{ amount: 25.5 }]],
  ['an explicit default currency', [{ currency: 'GHS' }]],
  ['the currency in lower case', [{ currency: 'ghs' }]],
  ['a currency of undefined', [{ currency: undefined }]],
  [
    'extra fields in another order',
    withExtra({ b: { d: 2, c: [1, { f: 1, e: 2 }] }, a: 1 }),
    withExtra({ a: 1, b: { c: [1, { e: 2, f: 1 }], d: 2 } }),
  ],
  ['an explicit empty extraBody', withExtra({})],
  [
    'another timeout, other headers and retries',
    [{}, { timeout: 999, headers: { 'x-trace': '7' }, maxRetries: 4 }],
  ],
])('replays the result for %s', async ([, again, first]) => {
  const { shop, posts } = world();
  const result = await send(shop, first);
  expect(await send(shop, again)).toEqual(replayOf(result));
  expect(posts).toHaveLength(1);
});

test('refuses the other operation under a used key, with the same fields', async () => {
  const { shop, posts } = world();
  const { phone, network } = momo;
  await keyed.initialize(shop.payments, { extraBody: { phone, network } });
  expect(await catchError(charged(shop.payments))).toBeInstanceOf(IdempotencyConflictError);
  expect(posts).toHaveLength(1);
});

test('gives equal inputs another fingerprint under another key', async () => {
  const { shop, store } = world();
  const fingerprints: unknown[] = [];
  for (const idempotencyKey of ['order-1', 'order-2']) {
    await charged(shop.payments, { idempotencyKey });
    const { record } = await store.read(`key ${idempotencyKey}`);
    fingerprints.push(/"fingerprint":"([\da-f]{64})"/.exec(record?.text ?? '')?.[1]);
  }
  expect(fingerprints).toEqual([expect.any(String), expect.any(String)]);
  expect(fingerprints[0]).not.toBe(fingerprints[1]);
});

test('refuses extra fields that are nested too deep for a fingerprint', async () => {
  const { shop, journal, posts } = world();
  const refusals: unknown[] = [];
  // How deep is too deep depends on the stack that is left.
  for (let depth = 500; depth <= 10_000; depth += 500) {
    let nested: unknown = 1;
    for (let level = 0; level < depth; level++) nested = level % 2 ? [nested] : { nested };
    const idempotencyKey = `order of ${depth}`;
    await charged(shop.payments, { idempotencyKey, extraBody: { nested } }).catch(async (error: unknown) => {
      refusals.push(error);
      expect(await journal.read(idempotencyKey)).toBeNull();
    });
  }
  expect(refusals).not.toEqual([]);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: 'invalid_input', issues: [{ path: 'extraBody' }] });
  expect(posts).toHaveLength(20 - refusals.length);
});

/** As going-live recommends. */
const UUID_KEY = 'order-b0206643-61c5-4b8e-9f02-00fbd79f7a1c/1';

const conflicts: [state: string, Respond, message: string][] = [
  [
    'completed',
    slow('POST', 0),
    `chargeMobileMoney: key "${UUID_KEY}" had other input, and its charge is TXN-000001. Nothing was sent. ` +
      'Verify it. Another charge needs another key.',
  ],
  [
    'begun',
    slow('POST', 5 * SECOND),
    `chargeMobileMoney: a call with other input holds key "${UUID_KEY}" now. Nothing was sent. ` +
      'Wait until it has ended. Another charge needs another key.',
  ],
  [
    'unknown',
    () => new Response('{}', { status: 503 }),
    'chargeMobileMoney: a call with other input might have charged. Nothing was sent. ' +
      `Find it, then payments.resolve("${UUID_KEY}", { reference } or 'not_charged', …).`,
  ],
];

test.for(conflicts)('a conflict with a key that is %s says what to do', async ([state, respond, message]) => {
  const { shop, journal, clock, posts } = world({ respond });
  const options = { idempotencyKey: UUID_KEY };
  const first = send(shop, [{}, options]).catch(() => {});
  await clock.pass(SECOND);
  expect(await journal.read(UUID_KEY)).toMatchObject({ state });
  expect(await catchError(send(shop, [{ amount: 30 }, options]))).toMatchObject({
    ...{ code: 'idempotency_conflict', message },
  });
  const page = await catchError(keyed.initialize(shop.payments, options));
  expect(page).toBeInstanceOf(IdempotencyConflictError);
  expect(Object(page).message.length).toBeLessThanOrEqual(200);
  await first;
  expect(posts).toHaveLength(1);
});

test.for([
  ['order-'.padEnd(80, '5d2f3c1e'), 'order-'.padEnd(80, '5d2f3c1e')],
  ['order-'.padEnd(81, '5d2f3c1e'), `${'order-'.padEnd(79, '5d2f3c1e')}…`],
  [`17 of ${EMAIL}, ${PHONE}, ${API_KEY}`, '17 of [REDACTED], [REDACTED], [REDACTED]'],
] as const)('a conflict shows the key %s as %s', async ([idempotencyKey, shown]) => {
  for (const status of [200, 503]) {
    const { shop } = world({ respond: () => (status === 200 ? undefined : new Response('{}', { status })) });
    await send(shop, [{}, { idempotencyKey }]).catch(() => {});
    const failure = await catchError(send(shop, [{ amount: 30 }, { idempotencyKey }]));
    expect(String(failure)).toContain(`"${shown}"`);
    expectNoSecrets(failure, { key: API_KEY, phone: PHONE, email: EMAIL });
  }
});

test.for(kinds)('other processes and another key of the service replay from %s', async ([, handles]) => {
  const handle = handles();
  const { shop, start, clock, posts } = world({ journal: handle() });
  for (const operation of operations) {
    const options = { idempotencyKey: operation };
    const first = await clock.hold<object>(() => keyed[operation](shop.payments, options));
    expect(first).toMatchObject({ replayed: false, amount: '25.50', currency: 'GHS' });
    const later = start({ journal: handle(), client: { apiKey: 'sk_test_rotated_7Hq2Zp' } });
    expect(await clock.hold<object>(() => keyed[operation](later.payments, options))).toEqual(
      replayOf(first),
    );
  }
  expect(posts).toHaveLength(2);
});

test('recognises an input with Web Crypto alone, as a Worker has it', async () => {
  const { shop, posts } = world();
  const first = await charged(shop.payments);
  const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  onTestFinished(() => builtin.mockRestore());
  const digest = vi.spyOn(crypto.subtle, 'digest');
  onTestFinished(() => digest.mockRestore());
  expect(await charged(shop.payments)).toEqual(replayOf(first));
  expect(digest).toHaveBeenCalled();
  expect(posts).toHaveLength(1);
});

test.for<['initialize' | 'chargeMobileMoney', data: object, replayed: object]>([
  ['chargeMobileMoney', { status: 'queued' }, { status: 'unrecognised', raw_status: 'queued' }],
  ['chargeMobileMoney', { amount: '25.5', currency: 'ghs' }, { amount: '25.50', currency: 'ghs' }],
  ['chargeMobileMoney', { replayed: true }, { message: '' }],
  ['initialize', { replayed: 'yes' }, { checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0' }],
])('replays the result of %s with %o', async ([operation, data, replayed]) => {
  const { shop } = world({ respond: () => Response.json(successBodies[operation](data)) });
  const first = await keyed[operation](shop.payments);
  expect(first).toMatchObject({ replayed: false });
  const again = await keyed[operation](shop.payments);
  expect(again).toEqual(replayOf(first));
  expect(again).toMatchObject({ ...replayed, replayed: true });
});
