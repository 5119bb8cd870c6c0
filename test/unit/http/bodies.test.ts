import { inspect } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { PaymentsError } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { callOperation } from '../../helpers/allowed-ends.ts';
import { calls, operationNames, posts, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, charge, EMAIL, startService, successBodies } from '../../helpers/service.ts';

type Body = string | Uint8Array;

const written = (value: unknown) => JSON.stringify(value);
const json = (operation: (typeof operationNames)[number], data = {}) =>
  written(successBodies[operation](data));
const without = (field: string) => json('verify', { [field]: undefined });
const proto = written(successBodies.verify().data);

const DEEP = 100_000;
const lists = '['.repeat(DEEP) + ']'.repeat(DEEP);
const objects = `${'{"error":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`;

test.each<[string, Body]>([
  ['white space', ' \n'],
  ['HTML', '<!doctype html><title>502 Bad Gateway</title>'],
  ['JSON that is cut off', '{"status":true,"data":{"reference":"TXN-8f2c'],
  ['JSON with something after it', '{"status":true}{}'],
  ['UTF-16', Buffer.from('\ufeff{"status":true}', 'utf16le')],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28])],
  ['a list', '[]'],
  ['null', 'null'],
  ['no data', '{"status":true}'],
  ['data that is a list', '{"status":true,"data":[]}'],
  ['no reference', without('reference')],
  ['a reference of another form', json('verify', { reference: '../x' })],
  ['an amount with more behind it', json('verify', { amount: '25.50 GHS' })],
  ['an amount that is a number with three decimals', json('verify', { amount: 25.555 })],
  ['an amount that is a number of 22 digits', json('verify', { amount: 1e21 })],
  ['an amount that no double has', json('verify').replace('"25.50"', '9007199254740993')],
  ['an amount that is a negative number', json('verify', { amount: -25.5 })],
  ['an amount in thousands', json('verify', { amount: '25,500.00' })],
  ['no status', written({ data: successBodies.verify().data })],
  ["the status 'true' as text", written({ ...successBodies.verify(), status: 'true' })],
  ['the status 1', written({ ...successBodies.verify(), status: 1 })],
  ['the status 0', '{"status":0}'],
  ['the status null', '{"status":null}'],
  ["the status 'false' as text", '{"status":"false"}'],
  ['a list 100,000 deep', lists],
  ['objects 100,000 deep', objects],
  ['data with __proto__ in place of fields', `{"status":true,"data":{"__proto__":${proto}}}`],
  ['__proto__ in place of the envelope', `{"__proto__":${json('verify')}}`],
])('makes a POST unknown and a read retryable after a 2xx with %s', async (_, body) => {
  const service = await startService(200, body);
  const client = service.client({ maxRetries: 3 });
  for (const operation of posts)
    expect(await catchError(calls[operation](client))).toMatchObject({
      name: 'OutcomeUnknownError',
      operation,
      outcome: 'unknown',
      retryable: false,
      cause: { name: 'UnexpectedResponseError', status: 200, outcome: 'unknown', retryable: false },
    });
  expect(await catchError(client.verify(REFERENCE, { maxRetries: 0 }))).toMatchObject({
    code: 'unexpected_response',
    operation: 'verify',
    outcome: null,
    retryable: true,
    status: 200,
  });
  expect(service.requests).toHaveLength(3);
});

test('keeps the reference of a response that lacks a field', async () => {
  const service = await startService(200, json('chargeMobileMoney', { amount: [25.5] }));
  const message = expect.stringMatching(/data\.amount missing or wrong.+verify TXN-8f2c61d0/);
  const expected = { code: 'outcome_unknown', reference: REFERENCE, message };
  expect(await catchError(service.client().chargeMobileMoney(charge))).toMatchObject(expected);
});

const nested = json('verify', { extra: 0 }).replace('"extra":0', `"extra":${lists}`);

test.each([
  ['a success', 200, nested],
  ['a success about another transaction', 200, nested.replace(REFERENCE, 'TXN-other')],
  ['an error of lists', 422, lists],
  ['an error whose message is deep', 422, `{"message":${objects}}`],
  ['an error with short deep lists', 500, '['.repeat(8000) + ']'.repeat(8000)],
  ['an error with short deep objects', 500, `${'{"a":'.repeat(2700)}1${'}'.repeat(2700)}`],
])('reads %s nested without end, and its error can be printed', async (_, status, body) => {
  const client = (await startService(status, body)).client();
  for (const operation of operationNames) {
    const end = await callOperation(client, operation);
    if ('value' in end) continue;
    expect(end.error).toBeInstanceOf(PaymentsError);
    const shown = inspect(end.error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
    expect(Math.max(written(end.error).length, shown.length)).toBeLessThan(100_000);
  }
});

const encodings: [string, (text: string) => Uint8Array][] = [
  ['identity', Buffer.from],
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['gzip, br', (text) => brotliCompressSync(gzipSync(text))],
];

/** The head of a response, and the end of its body, for each way in which HTTP marks that end. */
const framings: [string, (length: number) => [head: string, end: string]][] = [
  ['content-length', (length) => [`content-length: ${length}\r\n\r\n`, '']],
  ['chunked', (length) => [`transfer-encoding: chunked\r\n\r\n${length.toString(16)}\r\n`, '\r\n0\r\n\r\n']],
  ['its close', () => ['connection: close\r\n\r\n', '']],
];

describe.each([
  ['fetch', undefined],
  ['undiciTransport', undiciTransport()],
])('over %s', (_, transport) => {
  test.each(operationNames)(
    '%s reads a body in any encoding, with a BOM or another type',
    async (operation) => {
      const text = json(operation);
      const bodies: [Body, Record<string, string>][] = [
        [`\ufeff${text}`, {}],
        [` \r\n${text}\n`, {}],
        [text, { 'content-type': 'application/json; charset=latin1' }],
        [text, { 'content-type': 'nonsense' }],
        ...encodings.map(([encoding, pack]): [Body, Record<string, string>] => [
          pack(text),
          { 'content-encoding': encoding },
        ]),
      ];
      for (const [body, headers] of bodies) {
        const service = await startService(200, body, headers);
        const result = await calls[operation](service.client({ transport }));
        expect(result).toMatchObject({ reference: REFERENCE, amount: '25.50' });
        expect(service.requests[0]?.headers['accept-encoding']).toBe('identity');
      }
    },
  );

  test.each(encodings)('reads a whole refusal in %s, and no part of one', async (encoding, pack) => {
    const said = { message: 'Too many requests: please wait.', docs: 'https://pay.example/429' };
    const whole = pack(written(said));
    const refusing = await startService(422, whole, { 'content-encoding': encoding });
    const refused = await catchError(refusing.client({ transport }).chargeMobileMoney(charge));
    expect(refused).toMatchObject({ outcome: 'rejected', serviceMessage: said.message });
    // What HTTP says has arrived, with no encoding and a stated length, is all there is.
    const unclear = framings.filter(([framing]) => encoding !== 'identity' || framing === 'its close');
    const lengths = [1, whole.length >> 2, whole.length >> 1, whole.length - 10];
    for (const [framing, frame] of unclear) {
      const service = await startRawService((socket, count) => {
        const part = whole.subarray(0, lengths[count - 1]);
        const [head, end] = frame(part.length);
        socket.write(`HTTP/1.1 429 Too Many Requests\r\ncontent-encoding: ${encoding}\r\n${head}`);
        socket.write(part);
        socket.end(end);
      });
      const client = service.client({ transport, maxRetries: 1 });
      const unknown = { name: 'OutcomeUnknownError', outcome: 'unknown' };
      for (const _ of lengths)
        expect(await catchError(client.chargeMobileMoney(charge)), framing).toMatchObject(unknown);
      expect(service.requests).toHaveLength(lengths.length);
    }
  });
});

test.each(posts)('reports rejected for %s after a 2xx with status: false', async (operation) => {
  const body = { status: false, message: 'Insufficient funds.', data: null };
  const service = await startService(200, body);
  const facts = { name: 'APIError', retryable: false, status: 200, body, serviceMessage: body.message };
  const client = service.client({ maxRetries: 2 });
  expect(await catchError(calls[operation](client))).toMatchObject({
    ...facts,
    operation,
    outcome: 'rejected',
  });
  expect(await catchError(client.verify(REFERENCE))).toMatchObject({ ...facts, outcome: null });
  expect(service.requests).toHaveLength(2);
});

/** Bodies of refusals that are no proof, and the one reference that they name. */
const naming: [how: string, body: Body, reference?: string][] = [
  ['in its place', written({ data: { reference: REFERENCE } }), REFERENCE],
  ['nested deeply', written({ error: { of: [{ transaction: { id: REFERENCE } }] } }), REFERENCE],
  ['in an array', written([REFERENCE]), REFERENCE],
  ['as the name of a field', written({ [REFERENCE]: 'pending' }), REFERENCE],
  ['in a sentence', written({ message: `Duplicate of ${REFERENCE}.` }), REFERENCE],
  ['in HTML', `<h1>Conflict</h1><a href="/checkout/${REFERENCE}">Pay</a>`, REFERENCE],
  ['with escaped letters', '{"reference":"\\u0054XN-8f2c61d0"}', REFERENCE],
  ['with an escaped hyphen in HTML', '<p>TXN&#45;8f2c61d0</p>', REFERENCE],
  ['in an address', 'https://pay.example/?r=%54XN%2D8f2c61d0', REFERENCE],
  ['in JSON within JSON', written({ error: written({ a: written({ b: REFERENCE }) }) }), REFERENCE],
  ['in JSON that breaks off', `{"reference":"${REFERENCE}","amou`, REFERENCE],
  ['in UTF-16', Buffer.from(written({ reference: REFERENCE }), 'utf16le'), REFERENCE],
  ['in lower case', written({ reference: 'txn-8f2c61d0' })],
  ['beside another one', written({ references: [REFERENCE, 'TXN-other'] })],
  ['that no client would send', written({ reference: 'TXN-a/../b' })],
  ['with a documented status', written({ status: false, data: { status: 'processing' } })],
  ['with a documented status in another case', written({ status: false, data: { status: 'Processing ' } })],
  ['with a reference in another form', written({ status: false, data: { reference: '8f2c61d0' } })],
  ['with a reference that is a number', written({ message: 'No.', error: { reference: 4711 } })],
  ['with a reference in a list', written({ errors: [{ transaction_reference: 'ref_8f2c61d0' }] })],
  ['of a success', written({ status: true, data: { status: 'queued', amount: '25.50' } })],
  ['that is longer than 1 MiB', `"${'a'.repeat(1024 * 1024)} ${REFERENCE}"`],
];

test.each(naming)('never reports rejected if a body names a transaction %s', async (how, body, reference) => {
  for (const status of [400, 401, 402, 403, 404, 409, 422, 425, 429, 451, 499, 500, 503]) {
    const service = await startService(status, body, { 'retry-after': '0' });
    const journal = memoryJournal();
    const client = service.client({ maxRetries: 3, journal });
    const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
    const expected = {
      name: 'OutcomeUnknownError',
      outcome: 'unknown',
      nextStep: 'review',
      retryable: false,
    };
    expect(failure, `${status}`).toMatchObject({ ...expected, cause: { outcome: 'unknown', status } });
    if (!how.includes('longer')) expect(failure).toMatchObject({ reference });
    expect(await journal.read('order-17')).toMatchObject({
      state: 'unknown',
      ...(reference && { reference }),
    });
    expect(service.requests).toHaveLength(1);
  }
});

test.each([
  ['a whole result', { ...successBodies.chargeMobileMoney(), status: false }, REFERENCE],
  ['a message', { status: false, message: `Exists: ${REFERENCE}` }, REFERENCE],
  ['lower case', { status: false, data: { id: 'txn-1' } }, undefined],
])('reports unknown after status: false that names a transaction in %s', async (_, body, reference) => {
  const failure = await catchError((await startService(200, body)).client().chargeMobileMoney(charge));
  const cause = { name: 'APIError', outcome: 'unknown', retryable: false };
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', reference, cause });
  expect(String(failure)).toContain(reference ? `verify ${reference}` : "the service's records");
});

test.each(['location', 'content-location', 'link'])('finds a transaction in the header %s', async (name) => {
  const service = await startService(409, '', { [name]: `</transactions/verify/${REFERENCE}>` });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: REFERENCE });
});

test('reports unknown after a 422 with an unknown content encoding', async () => {
  const body = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xff);
  const service = await startService(422, body, { 'content-encoding': 'made-up' });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', cause: { status: 422 } });
});

test.each<[string, Body]>([
  ['nothing', ''],
  ['HTML', '<html>Forbidden</html>'],
  ['the prefix alone', written({ message: 'A reference begins with TXN- and goes on' })],
  ['a word that ends like it', written({ code: 'TXN_FAILED', message: 'No txn.' })],
  ['a body nested deeply', '['.repeat(DEEP)],
  ['no data', written({ status: true, message: 'No.' })],
  ['a status that is no text', written({ status: true, data: { status: 422 } })],
  ['another status', written({ status: false, data: { status: 'invalid' } })],
  ['an empty reference', written({ reference: null, data: { reference: '' } })],
  ['an error about a field', written({ errors: { reference: ['is unknown'] }, field: 'reference' })],
])('reports rejected after a 409 with %s', async (_, body) => {
  const failure = await catchError((await startService(409, body)).client().chargeMobileMoney(charge));
  const expected = { name: 'ConflictError', outcome: 'rejected', retryAfter: undefined };
  expect(failure).toMatchObject(expected);
});

test('keeps the 409 of a read that names the transaction it asks for', async () => {
  const service = await startService(409, { reference: REFERENCE });
  const failure = await catchError(service.client().verify(REFERENCE));
  expect(failure).toMatchObject({ name: 'ConflictError', outcome: null });
});

test.each([
  ['a key', 'sk_live_9fJ2kLm4Qw7RtZ', { key: 'sk_live_9fJ2kLm4Qw7RtZ' }],
  ["the customer's phone number", '0244123456', { key: API_KEY, phone: '0244123456' }],
  ["the customer's email address", EMAIL, { key: API_KEY, email: EMAIL }],
])('never takes %s after TXN- for a reference', async (_, secret, secrets) => {
  const service = await startService(409, { message: 'Exists', id: `TXN-${secret}` });
  const journal = memoryJournal();
  const client = service.client({ journal });
  const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: undefined });
  const record = await journal.read('order-17');
  expect(record).toMatchObject({ state: 'unknown' });
  expectNoSecrets([failure, record], secrets);
});
