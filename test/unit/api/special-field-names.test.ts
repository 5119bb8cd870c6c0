import { expect, test } from 'vitest';
import {
  APIError,
  type PaymentsClient,
  type Poll,
  TransactionMismatchError,
  transactionSchema,
} from '../../../src/index.ts';
import { parseLedgerRecord } from '../../../src/ledger/record.ts';
import { createJournal } from '../../../src/stores/index.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { calls, operationNames, posts, REFERENCE } from '../../helpers/calls.ts';
import { expectFields, readOwnField } from '../../helpers/fields.ts';
import { catchError, charge, payment, startService, successBodies } from '../../helpers/service.ts';
import { startMock } from '../developers/mock/start-mock.ts';

// test/property/extra-fields.test.ts has any other name.

/** Names that an object has already, or that JavaScript reads something else from. */
const names = ['__proto__', 'constructor', 'prototype', 'toJSON', 'toString', 'hasOwnProperty', 'then'];

/** A result has no field `__proto__`: zod drops it, because it could replace a prototype. */
const keptNames = names.filter((name) => name !== '__proto__');

const VALUE =
  '[{"status":"failed","paid":true,"__proto__":{"then":"x"},"then":{"constructor":null}},"text",17]';

/** The field on the top level, inside an object and inside a list. As text, because a literal cannot hold `__proto__`. */
const extraFields = (name: string) =>
  `"${name}":${VALUE},"inner":{"${name}":${VALUE},"deeper":{"${name}":${VALUE}}},"list":[{"${name}":${VALUE}}]`;

const withExtra = (body: { data: object }, extra: string) =>
  JSON.stringify(body).replace('"data":{', `"data":{${extra},`);

/** Holds that the fields of {@link extraFields} are there, and that none of them is a prototype. */
function expectExtraFields(found: unknown, name: string) {
  const expected = JSON.parse(`{${extraFields(name)}}`);
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
  const copy = JSON.parse(JSON.stringify(transaction));
  return [transaction, ...seen, transactionSchema.parse(copy), structuredClone(transaction)];
}

test.each(keptNames)('keeps %s on each result, and stores it in no journal', async (name) => {
  for (const operation of posts) {
    const service = await startService(200, withExtra(successBodies[operation](), extraFields(name)));
    const store = memoryStore();
    const client = service.client({ journal: createJournal(store) });
    const key = { idempotencyKey: 'order-17' };
    const send = () =>
      operation === 'initialize' ? client.initialize(payment, key) : client.chargeMobileMoney(charge, key);
    const result = await send();
    expectExtraFields(result, name);
    expect(result).toMatchObject({ reference: REFERENCE, amount: '25.50' });
    expect(Object.keys(await send())).not.toContain(name);
    const { record } = await store.read('key order-17');
    const { payments } = parseLedgerRecord(JSON.parse(record?.text ?? '')) ?? {};
    const made = payments?.[0]?.charge;
    expect(made).toMatchObject({ is: 'made', result: { reference: REFERENCE } });
    expect(Object.keys(Object(readOwnField(made, 'result')))).not.toContain(name);
  }
  const verified = await startService(200, withExtra(successBodies.verify(), extraFields(name)));
  for (const found of await readTransaction(verified.client())) expectExtraFields(found, name);
  for (const operation of ['chargeMobileMoney', 'verify'] as const) {
    const body = successBodies[operation]({ status: 'reversed' });
    const service = await startService(200, withExtra(body, extraFields(name)));
    const result = await calls[operation](service.client());
    expectExtraFields(result, name);
    expect(result).toMatchObject({ status: 'unrecognised', raw_status: 'reversed' });
  }
});

test('drops __proto__ from each result', async () => {
  for (const operation of operationNames) {
    const text = withExtra(successBodies[operation](), `"__proto__":{"paid":true},"toString":1`);
    const result = await calls[operation]((await startService(200, text)).client());
    expect(Object.keys(Object(result))).not.toContain('__proto__');
    expect(result).toMatchObject({ reference: REFERENCE, toString: 1 });
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(result).not.toHaveProperty('paid');
  }
});

test.each(names)('keeps %s on the body of an error', async (name) => {
  const text = `{${extraFields(name)},"message":"No such network","errors":{"${name}":"is wrong"}}`;
  const client = (await startService(422, text)).client();
  for (const operation of operationNames) {
    const failure = await catchError(calls[operation](client));
    if (!(failure instanceof APIError)) throw failure;
    expectExtraFields(failure.body, name);
    expectExtraFields(readOwnField(JSON.parse(JSON.stringify(failure)), 'body'), name);
    const fieldErrors = [{ field: name, message: 'is wrong' }];
    expect(failure).toMatchObject({ serviceMessage: 'No such network', fieldErrors });
  }
});

test.each(names)('never replaces a missing field by %s', async (name) => {
  const value = '{"reference":"TXN-1","status":"success","amount":"25.50","currency":"GHS"}';
  const text = `{"${name}":{"status":true},"status":true,"data":{"${name}":${value}}}`;
  const failure = await catchError((await startService(200, text)).client().verify(REFERENCE));
  expect(failure).toMatchObject({ name: 'UnexpectedResponseError', outcome: null });
});

test.each(names)('sends %s of extraBody unchanged, and tells inputs apart by it', async (name) => {
  const extraBody = JSON.parse(`{${extraFields(name)}}`);
  const service = await startService();
  const client = service.client({ journal: createJournal(memoryStore()) });
  await client.initialize(payment, { extraBody });
  const send = (value: Record<string, unknown>) =>
    client.chargeMobileMoney(charge, { idempotencyKey: 'order-17', extraBody: value });
  await send(extraBody);
  await send(extraBody);
  const other = JSON.parse(`{${extraFields(name).replace('17', '18')}}`);
  expect(await catchError(send(other))).toMatchObject({ code: 'idempotency_conflict' });
  expect(service.requests).toHaveLength(2);
  for (const { body } of service.requests) expectExtraFields(JSON.parse(body), name);

  const { mock, payments } = startMock();
  await payments.initialize(payment, { extraBody });
  expectExtraFields(mock.requests[0]?.body, name);
});

test.each(names)('refuses an input field named %s, and sends nothing', async (name) => {
  const service = await startService();
  const input = JSON.parse(JSON.stringify(payment).replace('{', `{"${name}":"x",`));
  const issues = [{ path: name, code: 'unknown_field' }];
  expect(await catchError(service.client().initialize(input))).toMatchObject({ issues });
  expect(service.requests).toEqual([]);
});
