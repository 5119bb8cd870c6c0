/** What the journal keeps of a call, and shows of it: no customer, no API key, and no more than the documented fields. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { memoryStore } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { sqliteFile } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts as operations, replayOf } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE, successBodies } from '../../helpers/service.ts';
import { momo, type ProcessOptions, world } from '../../helpers/world.ts';

const secrets = { key: API_KEY, phone: PHONE, email: EMAIL };
const message = `Prompt sent to ${PHONE} of ${EMAIL} for ${API_KEY}.`;

/** A shop whose service responds with this, and all that its store was given to write. */
function openShop(body: object, { status = 200, ...options }: ProcessOptions & { status?: number } = {}) {
  const store = memoryStore();
  const writes: unknown[] = [];
  const write: typeof store.write = (...step) => {
    writes.push(step);
    return store.write(...step);
  };
  const begun = world({
    ...options,
    store: { ...store, write },
    respond: () => Response.json(body, { status }),
  });
  return { ...begun, payments: begun.shop.payments, writes };
}

const filler = 'x'.repeat(100_000);

/** What a service that knows the customer and the call can add to its data, in one form or another. */
const echoes: [string, object][] = [
  ['as it is', { customer_email: EMAIL, phone: PHONE, key: API_KEY }],
  ['in lists and objects', { customer: { to: [{ to: EMAIL }, [PHONE, { header: `Bearer ${API_KEY}` }]] } }],
  ['in the names of fields', { [EMAIL]: 1, [`tel:${PHONE}`]: 2, [API_KEY]: 3 }],
  ['as a number', { payer: 244_123_456, msisdn: 233_244_123_456 }],
  ['in JSON inside text', { raw: JSON.stringify(JSON.stringify({ e: EMAIL, p: PHONE, k: API_KEY })) }],
  ['in another checkout_url', { checkout_url: { page: `https://x.example/${EMAIL}` } }],
  ['in a status', { status: `sent to ${PHONE}, ${EMAIL}, ${API_KEY}` }],
  ['as other facts', { name: 'Ama Serwaa', address: { street: '4 Ring Road' }, card: 'GHA-725184923-1' }],
  ['in a long field', { note: `${filler} ${PHONE}` }],
  ['in a long status', { status: `${filler} ${EMAIL}` }],
  ['in a long name', { [`${filler} ${EMAIL}`]: 1 }],
  ['in many items', { list: Array.from({ length: 20_000 }, () => [PHONE]) }],
];

test.for(echoes)('stores and replays nothing that a service adds to a charge %s', async ([, extra]) => {
  const { data } = successBodies.chargeMobileMoney(extra);
  const { payments, writes, posts } = openShop({ status: true, message, data });
  const { reference, status, amount, currency } = await charged(payments);
  const again = await charged(payments);
  expect(again).toMatchObject({ reference, status, amount, currency, message: '' });
  for (const name of Object.keys(extra).filter((name) => name !== 'status' && name !== 'checkout_url'))
    expect(again).not.toHaveProperty([name]);
  expectNoSecrets([...writes, again], secrets);
  expect(JSON.stringify(writes)).not.toMatch(/Ama Serwaa|Ring Road|GHA-/);
  expect(JSON.stringify(writes.at(-1)).length).toBeLessThan(20_000);
  expect(posts).toHaveLength(1);
});

test.for(operations)('stores the documented fields alone of a result of %s', async (operation) => {
  const extra = { ip_address: '41.66.208.9', fees: [{ amount: 0.5 }], customer_email: EMAIL };
  const { payments, writes } = openShop(successBodies[operation](extra));
  const first = await keyed[operation](payments);
  expect(first).toMatchObject(extra);
  expect(await keyed[operation](payments)).toEqual(replayOf(first));
  expect(JSON.stringify(writes)).not.toMatch(/41\.66|fees|ama\.serwaa/);
});

test.for([
  `https://p.example/checkout/${REFERENCE}`,
  `https://p.example/@shop/checkout/${REFERENCE}?support=help@shop.com`,
  `https://p.example/checkout/${REFERENCE}?to=%40shop&support=help%40shop.com`,
  `https://shop@p.example/checkout/${REFERENCE}`,
  `https://p.example/checkout/20261122001234567/${REFERENCE}?order=0244123456`,
])('replays the checkout_url %s as it was', async (checkout_url) => {
  const { payments, posts } = openShop(successBodies.initialize({ checkout_url }));
  const first = await keyed.initialize(payments);
  expect(first.checkout_url).toBe(checkout_url);
  expect(await keyed.initialize(payments)).toEqual(replayOf(first));
  expect(posts).toHaveLength(1);
});

test.for([
  ['the email', `https://p.example/@shop/${REFERENCE}?help=help@shop.com&email=${EMAIL}`],
  ['the escaped email', `https://p.example/@shop/${REFERENCE}?email=${encodeURIComponent(EMAIL)}`],
  ['the email in upper case', `https://p.example/@shop/${REFERENCE}?a=b@c.com#${EMAIL.toUpperCase()}`],
  ['the API key', `https://p.example/@shop/${REFERENCE}?help=help@shop.com&key=${API_KEY}`],
  ['the email for its host', `https://${EMAIL}/checkout/${REFERENCE}`],
  ['too much text', `https://p.example/${'x'.repeat(20_000)}/${REFERENCE}`],
] as const)('never replays a checkout_url with %s, nor sends again', async ([, checkout_url]) => {
  const { payments, writes, journal, posts } = openShop(successBodies.initialize({ checkout_url }));
  expect(await keyed.initialize(payments)).toMatchObject({ checkout_url });
  const failure = await catchError(keyed.initialize(payments));
  expect(failure).toMatchObject({ code: 'outcome_unknown', reference: REFERENCE, idempotencyKey: KEY });
  expect(String(failure)).not.toContain('p.example');
  expectNoSecrets([...writes, failure], { key: API_KEY, email: EMAIL });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference: REFERENCE });
  expect(posts).toHaveLength(1);
});

test.for([
  ['sent to Ama Serwaa', 'unrecognised'],
  ['Amá', 'unrecognised'],
  ['on_hold\n', 'unrecognised'],
  ['', 'unrecognised'],
  ['x'.repeat(41), 'unrecognised'],
  [PHONE.replaceAll(/\D/g, ''), 'unrecognised'],
  ['x'.repeat(40), 'x'.repeat(40)],
  ['ON-HOLD_2', 'ON-HOLD_2'],
] as const)('stores the status %j, which is not documented, as %j', async ([status, stored]) => {
  const { payments, writes } = openShop(successBodies.chargeMobileMoney({ status }));
  expect(await charged(payments)).toMatchObject({ status: 'unrecognised', raw_status: status });
  expect(await charged(payments)).toMatchObject({
    status: 'unrecognised',
    raw_status: stored,
    replayed: true,
  });
  if (stored !== status && status !== '') expect(JSON.stringify(writes)).not.toContain(status);
});

const LIVE_KEY = 'sk_live_9fJ2kLm4Qw7RtZ';

test.for<[state: string, status: number, body: object]>([
  ['completed', 200, successBodies.chargeMobileMoney({ customer_email: EMAIL })],
  ['rejected', 422, { message, errors: [{ field: 'phone', message: PHONE }] }],
  ['unknown', 500, { message, key: API_KEY }],
  ['unknown, with a reference', 200, { status: true, message, data: { reference: 'TXN-1', to: EMAIL } }],
])('writes no customer and no API key to a file for a charge that is %s', async ([, status, body]) => {
  const file = sqliteFile();
  const { payments, clock } = openShop(body, {
    status,
    journal: file.journal(),
    client: { apiKey: () => LIVE_KEY },
  });
  const extraBody = { receipt_to: EMAIL, token: LIVE_KEY };
  await clock.hold(() => charged(payments, { extraBody }).catch(() => {}));
  file.connect().exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(file.path, 'latin1');
  expect(bytes).toContain(KEY);
  expectNoSecrets(bytes, { ...secrets, key: LIVE_KEY });
  expect(bytes.replace(/\D/g, '')).not.toContain('244123456');
});

test("stores the caller's own request id without the customer", async () => {
  const { payments, journal, writes } = openShop(successBodies.chargeMobileMoney());
  await charged(payments, { headers: { 'x-request-id': `order-17 of ${PHONE}` } });
  expect(await journal.read(KEY)).toMatchObject({ requestIds: ['order-17 of [REDACTED]'] });
  expectNoSecrets(writes, secrets);
});

const idempotencyKey = `order of ${EMAIL}, ${PHONE}`;

test('redacts customer and API key in events, lines and errors of a key', async () => {
  const reported: unknown[] = [];
  const report = (...given: unknown[]) => void reported.push(...given);
  const logger = { debug: report, info: report, warn: report, error: report };
  const { payments } = openShop({ message }, { status: 500, client: { onEvent: report, logger } });
  for (const amount of ['25.50', '25.50', '30.00'])
    report(await catchError(payments.chargeMobileMoney({ ...momo, amount }, { idempotencyKey })));
  expect(reported.length).toBeGreaterThan(6);
  for (const one of reported) expectNoSecrets(one, secrets);
});

test('redacts the customer in the key that an error of the journal shows', async () => {
  const fail = () => Promise.reject(new Error('down'));
  const damaged: typeof memoryStore = () => ({
    ...memoryStore(),
    read: async () => ({ record: { version: '1', text: '{}' }, now: Date.now() }),
  });
  for (const store of [damaged(), { read: fail, write: fail }]) {
    const { shop, journal } = world({ store });
    const failure = await catchError(charged(shop.payments, { idempotencyKey }));
    expect(String(failure)).toContain('idempotencyKey "order of [REDACTED], [REDACTED]"');
    for (const call of [journal.read(idempotencyKey), journal.resolve(idempotencyKey, 'not_charged', note)])
      expectNoSecrets([failure, await catchError(call)], secrets);
  }
  const unknown = world().journal.resolve(idempotencyKey, 'not_charged', note);
  expectNoSecrets(await catchError(unknown), secrets);
});
