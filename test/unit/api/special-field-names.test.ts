import { describe, expect, test } from 'vitest';
import {
  APIError,
  type OperationName,
  type PaymentsClient,
  PaymentsError,
  type Poll,
  TransactionMismatchError,
  transactionSchema,
} from '../../../src/index.ts';
import { createJournal } from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { parseLedgerRecord } from '../../../src/ledger/record.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { expectFields, readOwnField } from '../../helpers/fields.ts';
import { catchError, charge, payment, startService, successBodies } from '../../helpers/service.ts';
import { startMock } from '../testing/start-mock.ts';

/** Names that an object has already, or that JavaScript reads something else from. */
const names = ['__proto__', 'constructor', 'prototype', 'toJSON', 'toString', 'hasOwnProperty', 'then'];

const values = [
  '"text"',
  '17',
  'null',
  '{"status":"failed","paid":true}',
  '[{"__proto__":{"then":"x"},"then":{"constructor":null}}]',
];

/** A result has no field `__proto__`: zod drops it, because it could replace a prototype. */
const keptNames = names.filter((name) => name !== '__proto__');

const fields = names.flatMap((name) => values.map((value): [string, string] => [name, value]));

const keptFields = fields.filter(([name]) => name !== '__proto__');

/** The field on the top level, inside an object and inside a list. As text, because a literal cannot hold `__proto__`. */
const extraFields = (name: string, value: string) =>
  `"${name}":${value},"inner":{"${name}":${value},"deeper":{"${name}":${value}}},"list":[{"${name}":${value}}]`;

const withExtra = (body: { data: object }, extra: string) =>
  JSON.stringify(body).replace('"data":{', `"data":{${extra},`);

/** Starts a service that responds to everything with the same text. */
const startServiceWith = (text: string, status = 200) => startService(status, text);

/** Holds that the fields of {@link extraFields} are there, and that none of them is a prototype. */
function expectExtraFields(found: unknown, name: string, value: string) {
  const expected = JSON.parse(`{${extraFields(name, value)}}`);
  expectFields(found, expected);
  expectFields(readOwnField(found, 'inner'), expected.inner);
  expect({}).not.toHaveProperty('paid');
}

/** Returns a transaction in each way in which a client returns one, and copies of it. */
async function readTransaction(client: PaymentsClient): Promise<unknown[]> {
  const transaction = await client.verify(REFERENCE);
  const seen: unknown[] = [];
  const onPoll = (poll: Poll) => seen.push(poll.transaction);
  seen.push(await client.waitForFinalStatus(REFERENCE, { onPoll }));
  for await (const watched of client.watch(REFERENCE)) seen.push(watched);
  for await (const reconciled of client.reconcile([REFERENCE]))
    seen.push(readOwnField(reconciled, 'transaction'));
  seen.push((await client.check(REFERENCE)).transaction);
  const mismatch = await catchError(client.verify(REFERENCE, { expect: { amount: '99.00' } }));
  if (!(mismatch instanceof TransactionMismatchError)) throw mismatch;
  seen.push(mismatch.transaction);
  expect(seen).toHaveLength(6);
  const copies = [JSON.parse(JSON.stringify(transaction)), transaction].map((copy) =>
    transactionSchema.parse(copy),
  );
  return [transaction, ...seen, ...copies, structuredClone(transaction)];
}

describe('a response field named', () => {
  test.each(keptFields)('%s is kept on each result: %s', async (name, value) => {
    const respond = (operation: OperationName, data = {}) =>
      startServiceWith(withExtra(successBodies[operation](data), extraFields(name, value)));
    for (const operation of posts) {
      const result = await calls[operation]((await respond(operation)).client());
      expectExtraFields(result, name, value);
      expect(result).toMatchObject({ reference: REFERENCE, amount: '25.50' });
    }
    for (const found of await readTransaction((await respond('verify')).client()))
      expectExtraFields(found, name, value);
    for (const operation of ['chargeMobileMoney', 'verify'] as const) {
      const result = await calls[operation]((await respond(operation, { status: 'reversed' })).client());
      expectExtraFields(result, name, value);
      expect(result).toMatchObject({ status: 'unrecognised', raw_status: 'reversed' });
    }
  });

  test.each(keptNames)('%s is returned, and not stored in the journal', async (name) => {
    const value = '{"status":"failed"}';
    for (const operation of posts) {
      const service = await startServiceWith(withExtra(successBodies[operation](), extraFields(name, value)));
      const store = memoryStore();
      const client = () => service.client({ journal: createJournal(store) });
      const options = { idempotencyKey: 'order-17' };
      const send = () =>
        operation === 'initialize'
          ? client().initialize(payment, options)
          : client().chargeMobileMoney(charge, options);
      expectExtraFields(await send(), name, value);
      const replay = await send();
      expect(replay).toMatchObject({ replayed: true });
      expect(Object.keys(replay)).not.toContain(name);
      expect(service.requests).toHaveLength(1);
      const { record } = await store.read('key order-17');
      const { payments } = parseLedgerRecord(JSON.parse(record?.text ?? '')) ?? {};
      const made = payments?.[0]?.charge;
      expect(made).toMatchObject({ is: 'made', result: { reference: REFERENCE } });
      expect(Object.keys(Object(readOwnField(made, 'result')))).not.toContain(name);
    }
  });

  test.each(fields)('%s is kept on the body of an error: %s', async (name, value) => {
    const text = `{${extraFields(name, value)},"message":"No such network","errors":{"${name}":"is wrong"}}`;
    for (const operation of [...posts, 'verify'] as const) {
      const service = await startServiceWith(text, 422);
      const failure = await catchError(calls[operation](service.client()));
      if (!(failure instanceof APIError)) throw failure;
      expectExtraFields(failure.body, name, value);
      expectExtraFields(readOwnField(JSON.parse(JSON.stringify(failure)), 'body'), name, value);
      expect(failure).toMatchObject({
        serviceMessage: 'No such network',
        fieldErrors: [{ field: name, message: 'is wrong' }],
      });
    }
  });

  test.each(values)('__proto__ is dropped from each result: %s', async (value) => {
    const text = (body: { data: object }) => withExtra(body, `"__proto__":${value},"toString":1`);
    for (const operation of [...posts, 'verify'] as const) {
      const service = await startServiceWith(text(successBodies[operation]()));
      const result = await calls[operation](service.client());
      expect(Object.keys(Object(result))).not.toContain('__proto__');
      expect(result).toMatchObject({ reference: REFERENCE, toString: 1 });
      expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
      expect(result).not.toHaveProperty('paid');
    }
  });

  test.each(names)('%s never replaces a field that is missing', async (name) => {
    const value = '{"reference":"TXN-1","status":"success","amount":"25.50","currency":"GHS"}';
    const text = `{"${name}":{"status":true},"status":true,"data":{"${name}":${value}}}`;
    const failure = await catchError((await startServiceWith(text)).client().verify(REFERENCE));
    expect(failure).toMatchObject({ name: 'UnexpectedResponseError', outcome: null });
  });
});

describe('an extraBody field named', () => {
  test.each(fields)('%s is sent unchanged: %s', async (name, value) => {
    const extraBody = JSON.parse(`{${extraFields(name, value)}}`);
    for (const operation of posts) {
      const service = await startServiceWith(JSON.stringify(successBodies[operation]()));
      const client = service.client();
      await (operation === 'initialize'
        ? client.initialize(payment, { extraBody })
        : client.chargeMobileMoney(charge, { extraBody }));
      const sent = JSON.parse(service.requests[0]?.body ?? '');
      expectExtraFields(sent, name, value);
      expect(sent).toMatchObject({ amount: 25.5, customer_email: payment.customer_email });
    }
  });

  test.each(names)('%s is other input under the same idempotencyKey', async (name) => {
    const service = await startServiceWith(JSON.stringify(successBodies.chargeMobileMoney()));
    const client = service.client({ journal: createJournal(memoryStore()) });
    const send = (value: string) =>
      client.chargeMobileMoney(charge, {
        idempotencyKey: 'order-17',
        extraBody: JSON.parse(`{"${name}":${value}}`),
      });
    await send('1');
    await send('1');
    const failure = await catchError(send('2'));
    expect(failure).toMatchObject({ code: 'idempotency_conflict' });
    expect(service.requests).toHaveLength(1);
  });

  test.each(names)('%s reaches the mock, which records it', async (name) => {
    const { mock, payments } = startMock();
    await payments.initialize(payment, { extraBody: JSON.parse(`{${extraFields(name, '"x"')}}`) });
    expectExtraFields(mock.requests[0]?.body, name, '"x"');
  });
});

test.each(names)('refuses an input field named %s, and sends nothing', async (name) => {
  const service = await startServiceWith(JSON.stringify(successBodies.initialize()));
  const input = JSON.parse(JSON.stringify(payment).replace('{', `{"${name}":"x",`));
  const failure = await catchError(service.client().initialize(input));
  if (!(failure instanceof PaymentsError)) throw failure;
  expect(failure).toMatchObject({ issues: [{ path: name, code: 'unknown_field' }] });
  expect(service.requests).toEqual([]);
});
