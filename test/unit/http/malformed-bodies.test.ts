import { inspect } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { OutcomeUnknownError, PaymentsError, UnexpectedResponseError } from '../../../src/index.ts';
import { callOperation, operationNames, REFERENCE } from '../../helpers/allowed-ends.ts';
import { calls, posts } from '../../helpers/calls.ts';
import { catchError, charge, startService, successBodies } from '../../helpers/service.ts';

const DEEP = 100_000;
const lists = '['.repeat(DEEP) + ']'.repeat(DEEP);
const objects = `${'{"error":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`;

/** Creates a client whose service gives the same bytes to everything. */
async function startServiceWith(body: string | Buffer, status = 200, headers = {}) {
  const service = await startService(status, body, { 'content-type': 'application/json', ...headers });
  return { client: service.client(), service };
}

const text = (operation: (typeof operationNames)[number]) => JSON.stringify(successBodies[operation]());
const codings: [string, (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['gzip, br', (plain) => brotliCompressSync(gzipSync(plain))],
];

test.each(operationNames)(
  '%s accepts a response with a BOM, compressed, or of another type',
  async (operation) => {
    const right = expect.objectContaining({ reference: REFERENCE, amount: '25.50' });
    const bodies: [string | Buffer, object][] = [
      [`\ufeff${text(operation)}`, {}],
      [` \r\n${text(operation)}\n`, {}],
      [text(operation), { 'content-type': 'text/html' }],
      [text(operation), { 'content-type': 'application/json; charset=latin1' }],
      [text(operation), { 'content-type': 'nonsense' }],
      ...codings.map(([coding, pack]): [Buffer, object] => [
        pack(text(operation)),
        { 'content-encoding': coding },
      ]),
    ];
    for (const [body, headers] of bodies) {
      const { client } = await startServiceWith(body, 200, headers);
      expect(await callOperation(client, operation)).toEqual({ value: right });
    }
  },
);

const unreadable: [string, string | Buffer][] = [
  ['nothing', ''],
  ['white space', ' \n'],
  ['HTML', '<!doctype html><title>502 Bad Gateway</title>'],
  ['text', 'OK'],
  ['JSON that is cut off', '{"status":true,"data":{"reference":"TXN-8f2c'],
  ['JSON with something after it', '{"status":true}{}'],
  ['UTF-16', Buffer.from('\ufeff{"status":true}', 'utf16le')],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28])],
  ['a list', '[]'],
  ['a number', '5'],
  ['null', 'null'],
  ['true', 'true'],
  ['an empty object', '{}'],
  ['no data', '{"status":true}'],
  ['data that is null', '{"status":true,"data":null}'],
  ['data that is a list', '{"status":true,"data":[]}'],
  ['no reference', JSON.stringify(successBodies.verify({ reference: undefined }))],
  ['a reference of another form', JSON.stringify(successBodies.verify({ reference: '../x' }))],
  ['an amount that is no decimal', JSON.stringify(successBodies.verify({ amount: 'a lot' }))],
  ['an amount with more behind it', JSON.stringify(successBodies.verify({ amount: '25.50 GHS' }))],
  [
    'an amount that is a number with three decimals',
    JSON.stringify(successBodies.verify({ amount: 25.555 })),
  ],
  ['an amount that is a number of 22 digits', JSON.stringify(successBodies.verify({ amount: 1e21 }))],
  ['an amount that no double has', text('verify').replace('"25.50"', '9007199254740993')],
  ['an amount that is a negative number', JSON.stringify(successBodies.verify({ amount: -25.5 }))],
  ['an amount in thousands', JSON.stringify(successBodies.verify({ amount: '25,500.00' }))],
  ['no status', JSON.stringify({ data: successBodies.verify().data })],
  ["the status 'true' as text", JSON.stringify({ ...successBodies.verify(), status: 'true' })],
  ['the status 1', JSON.stringify({ ...successBodies.verify(), status: 1 })],
  ['the status 0', '{"status":0}'],
  ['the status null', '{"status":null}'],
  ['an empty status', '{"status":""}'],
  ["the status 'false' as text", '{"status":"false"}'],
  ['a list 100,000 deep', lists],
  ['objects 100,000 deep', objects],
  [
    'data with __proto__ in place of fields',
    `{"status":true,"data":{"__proto__":${JSON.stringify(successBodies.verify().data)}}}`,
  ],
  ['__proto__ in place of the envelope', `{"__proto__":${text('verify')}}`],
  ['constructor in place of the envelope', '{"constructor":{"prototype":{"status":true}}}'],
];

test.each(unreadable)('makes a POST unknown and a read retryable after a 2xx with %s', async (_, body) => {
  const { client, service } = await startServiceWith(body);
  for (const operation of posts) {
    const failure = await catchError(calls[operation](service.client({ maxRetries: 3 })));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({
      operation,
      outcome: 'unknown',
      retryable: false,
      cause: { name: 'UnexpectedResponseError', status: 200, outcome: 'unknown', retryable: false },
    });
  }
  const read = await catchError(client.verify(REFERENCE));
  expect(read).toBeInstanceOf(UnexpectedResponseError);
  expect(read).toMatchObject({
    code: 'unexpected_response',
    operation: 'verify',
    outcome: null,
    retryable: true,
    status: 200,
  });
  expect(service.requests).toHaveLength(3);
});

test('keeps the reference of a response that lacks a field', async () => {
  const { client } = await startServiceWith(
    JSON.stringify(successBodies.chargeMobileMoney({ amount: [25.5] })),
  );
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ code: 'outcome_unknown', reference: REFERENCE });
  expect(failure).toHaveProperty(
    'message',
    expect.stringMatching(/data\.amount missing or wrong.+verify TXN-8f2c61d0/),
  );
});

const nested = JSON.stringify(successBodies.verify({ extra: 0 })).replace('"extra":0', `"extra":${lists}`);

test.each([
  ['a success', 200, nested],
  ['a success about another transaction', 200, nested.replace(REFERENCE, 'TXN-other')],
  ['an error of lists', 422, lists],
  ['an error of objects', 422, objects],
  ['an error whose message is deep', 422, `{"message":${objects}}`],
  ['an error with short deep lists', 500, '['.repeat(8000) + ']'.repeat(8000)],
  ['an error with short deep objects', 500, `${'{"a":'.repeat(2700)}1${'}'.repeat(2700)}`],
])('reads %s nested without end, and its error can be printed', async (_, status, body) => {
  const { client } = await startServiceWith(body, status);
  for (const operation of operationNames) {
    const end = await callOperation(client, operation);
    if ('value' in end) continue;
    expect(end.error).toBeInstanceOf(PaymentsError);
    expect(JSON.stringify(end.error).length).toBeLessThan(100_000);
    expect(inspect(end.error, { depth: Number.POSITIVE_INFINITY, showHidden: true }).length).toBeLessThan(
      100_000,
    );
  }
});
