/** What leaves a key unresolved, or its record unusable, and what the errors and events then say. */

import { expect, test } from 'vitest';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { charged, KEY, keyed, posts as operations } from '../../helpers/keyed-calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE, successBodies } from '../../helpers/service.ts';
import { momo, world } from '../../helpers/world.ts';

// What makes an outcome unknown is in test/promises/errors.test.ts and test/unit/http.
test.for<[what: string, body: object, recorded: object]>([
  ['nothing', {}, { state: 'unknown', reference: undefined }],
  [
    'a transaction',
    { status: true, data: { reference: 'TXN-seen' } },
    { state: 'unknown', reference: 'TXN-seen' },
  ],
  [
    'one in a refusal',
    { status: false, data: { reference: 'TXN-made' } },
    { state: 'unknown', reference: 'TXN-made' },
  ],
])('a key is unresolved after a response that names %s', async ([, body, recorded]) => {
  const { shop, journal, start, posts } = world({ respond: () => Response.json(body) });
  for (const { payments } of [shop, start({ client: { maxRetries: 3 } })])
    expect(await catchError(charged(payments))).toMatchObject({
      ...{ code: 'outcome_unknown', operation: 'chargeMobileMoney', retryable: false },
      ...{ reference: Object(recorded).reference, idempotencyKey: KEY },
    });
  expect(await journal.read(KEY)).toMatchObject(recorded);
  expect(posts).toHaveLength(1);
});

test('a transaction that an error names belongs to its key, and to no later one', async () => {
  let isFirst = true;
  const { shop, journal, start } = world({
    respond: () => {
      const data = { reference: 'TXN-seen' };
      const body = isFirst ? { status: true, data } : successBodies.chargeMobileMoney(data);
      isFirst = false;
      return Response.json(body);
    },
  });
  expect(await catchError(charged(shop.payments))).toMatchObject({ reference: 'TXN-seen' });
  const later = charged(start().payments, { idempotencyKey: 'order-18' });
  await expect(later).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(await journal.read(KEY)).toMatchObject({ attention: 'unresolved' });
  expect(await journal.read('order-18')).toMatchObject({ attention: 'shared_reference' });
});

test.for([
  ['connection_error', { kind: 'responseLost' }],
  ['server_error', { kind: 'status', status: 502 }],
] as const)('an unresolved key tells why its outcome is unknown: %s', async ([code, fault]) => {
  const { shop, journal, service } = world();
  service.fault('chargeMobileMoney', fault);
  await catchError(charged(shop.payments));
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', error: { code } });
});

test('a charge of another amount is recorded as made, and each replay fails', async () => {
  const { shop, journal, service, posts } = world();
  service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '255.00' });
  for (const call of [1, 2])
    expect(await catchError(charged(shop.payments)), `${call}`).toMatchObject({
      ...{ code: 'transaction_mismatch', outcome: 'unknown', nextStep: 'review' },
      transaction: { reference: service.charges[0]?.reference, amount: '255.00' },
      mismatches: [{ field: 'amount' }],
    });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', attention: 'mismatch' });
  expect(posts).toHaveLength(1);
});

test.for([{}, { amount: '255.00' }])(
  'a payment with %o whose page is another one is unresolved',
  async (data) => {
    const checkout_url = 'https://pay.example/checkout/TXN-other';
    const respond = () => Response.json(successBodies.initialize({ ...data, checkout_url }));
    const { shop, journal, posts } = world({ respond });
    const failure = await catchError(keyed.initialize(shop.payments));
    expect(failure).toMatchObject({ code: 'transaction_mismatch', outcome: 'unknown' });
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', attention: 'unresolved' });
    expect(await catchError(keyed.initialize(shop.payments))).toBeInstanceOf(OutcomeUnknownError);
    expect(posts).toHaveLength(1);
  },
);

/** Returns what is said about a key whose response named this, at the first call and at the second one. */
async function describe(operation: 'initialize' | 'chargeMobileMoney', data: object, idempotencyKey = KEY) {
  const lines: string[] = [];
  const [debug, info, warn, error] = ['debug', 'info', 'warn', 'error'].map((level) => (line: string) => {
    lines.push(`${level} ${line}`);
  });
  const { shop, events } = world({
    respond: () => Response.json({ status: true, data }),
    client: { logger: Object({ debug, info, warn, error }) },
  });
  const first = await catchError(keyed[operation](shop.payments, { idempotencyKey }));
  const [seen, written] = [events.length, lines.length];
  const again = await catchError(keyed[operation](shop.payments, { idempotencyKey }));
  return { first, again, events: events.slice(seen), lines: lines.slice(written) };
}

test('an unresolved key is a warning, and its errors say how to resolve it', async () => {
  const { first, again, events, lines } = await describe('chargeMobileMoney', { reference: 'TXN-seen' });
  const advice = 'Verify TXN-seen, then payments.resolve("order-17", { reference }';
  expect(first).toMatchObject({ reference: 'TXN-seen', idempotencyKey: KEY });
  expect(String(first)).toContain(advice);
  for (const part of ['might have charged', 'Nothing was sent', `${advice} or 'not_charged', …)`])
    expect(String(again)).toContain(part);
  expect(Object(again).message.length).toBeLessThanOrEqual(200);
  const about = { operation: 'chargeMobileMoney', idempotencyKey: KEY, reference: 'TXN-seen' };
  expect(events).toEqual([{ type: 'journal', result: 'unresolved', ...about }]);
  expect(lines).toEqual(['warn payments: chargeMobileMoney TXN-seen, journal: unresolved, key "order-17"']);
});

test('the error of a checkout payment asks for its checkout_url', async () => {
  const { again } = await describe('initialize', {});
  for (const part of ['Find it, then', '{ reference, checkout_url }']) expect(String(again)).toContain(part);
});

test.for(operations)('the error of %s redacts what a key says of the customer', async (operation) => {
  const { first } = await describe(operation, {}, `order 17 of ${EMAIL}, ${PHONE}`);
  // Of a payment by checkout page the client knows no phone number.
  const shown = operation === 'initialize' ? 'order 17 of [REDACTED]' : 'order 17 of [REDACTED], [REDACTED]';
  expect(first).toMatchObject({ idempotencyKey: expect.stringContaining(shown) });
  expect(String(first)).toContain('payments.resolve("order 17 of [REDACTED]');
  expectNoSecrets(first, { key: API_KEY, email: EMAIL });
  expect(JSON.parse(JSON.stringify(first))).toHaveProperty('idempotencyKey');
});

test('the error of a call without a key names no key', async () => {
  const { shop } = world({ respond: () => Response.json({}) });
  const failure = await catchError(shop.payments.chargeMobileMoney(momo, { idempotencyKey: null }));
  expect(failure).toMatchObject({ outcome: 'unknown', idempotencyKey: undefined });
  expect(String(failure)).not.toContain('journal');
});

/** Writes another text in place of the record of the key. */
async function replaceRecord(
  store: ReturnType<typeof memoryStore>,
  edit: (text: string) => string,
): Promise<void> {
  const { record } = await store.read(`key ${KEY}`);
  await store.write(`key ${KEY}`, {
    ...{
      expected: record?.version ?? null,
      version: 'v9',
      text: edit(record?.text ?? '{}'),
      mustCommit: true,
    },
    index: { kind: 'key', createdAt: 1, attentionAt: null, dueAt: 1 },
  });
}

const processing = { reference: 'TXN-1', status: 'processing', amount: '25.50', currency: 'GHS' };

test.for<[what: string, code: string, result: object]>([
  ['only its reference', 'outcome_unknown', { reference: 'TXN-1' }],
  ['a reference of another form', 'outcome_unknown', { ...processing, reference: 'order/17' }],
  [
    'the result of the other operation',
    'outcome_unknown',
    { reference: 'TXN-1', checkout_url: 'https://pay.example', amount: '25.50', currency: 'GHS' },
  ],
  ['another amount', 'transaction_mismatch', { ...processing, amount: '2.55' }],
  ['another currency', 'transaction_mismatch', { ...processing, currency: 'NGN' }],
])('a recorded result with %s is not replayed, and nothing is sent', async ([, code, result]) => {
  const store = memoryStore();
  const { shop, posts } = world({ store });
  await charged(shop.payments);
  await replaceRecord(store, (text) => {
    const record = JSON.parse(text);
    record.payments[0].charge.result = result;
    return JSON.stringify(record);
  });
  const failure = await catchError(charged(shop.payments));
  const { reference } = Object(result);
  expect(failure).toMatchObject({ code, outcome: 'unknown', nextStep: 'review' });
  expect(failure).toMatchObject(code === 'outcome_unknown' ? { reference } : { transaction: { reference } });
  expect(posts).toHaveLength(1);
});
