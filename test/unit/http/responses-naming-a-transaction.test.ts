import { expect, test } from 'vitest';
import { memoryJournal } from '../../../src/journal/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, charge, EMAIL, startService } from '../../helpers/service.ts';

type Body = string | Uint8Array;

const startServiceWith = (status: number, body: Body, headers: Record<string, string> = {}) =>
  startService(status, body, headers);

const written = (value: unknown) => JSON.stringify(value);

const naming: [how: string, body: Body, reference: string | undefined][] = [
  ['in its place', written({ data: { reference: REFERENCE } }), REFERENCE],
  ['at the top', written({ message: 'Exists', reference: REFERENCE }), REFERENCE],
  ['nested deeply', written({ error: { of: [{ transaction: { id: REFERENCE } }] } }), REFERENCE],
  ['in an array', written([REFERENCE]), REFERENCE],
  ['as the name of a field', written({ [REFERENCE]: 'pending' }), REFERENCE],
  ['in a sentence', written({ message: `Duplicate of ${REFERENCE}.` }), REFERENCE],
  ['in HTML', `<h1>Conflict</h1><a href="/checkout/${REFERENCE}">Pay</a>`, REFERENCE],
  ['in text', `See ${REFERENCE}`, REFERENCE],
  ['with escaped letters', '{"reference":"\\u0054XN-8f2c61d0"}', REFERENCE],
  ['with an escaped hyphen in HTML', '<p>TXN&#45;8f2c61d0</p>', REFERENCE],
  ['in an address', 'https://pay.example/?r=%54XN%2D8f2c61d0', REFERENCE],
  [
    'in JSON within JSON',
    written({ error: written({ error: written({ reference: REFERENCE }) }) }),
    REFERENCE,
  ],
  ['in JSON that breaks off', `{"reference":"${REFERENCE}","amou`, REFERENCE],
  ['in UTF-16', Buffer.from(written({ reference: REFERENCE }), 'utf16le'), REFERENCE],
  ['in lower case', written({ reference: 'txn-8f2c61d0' }), undefined],
  ['beside another one', written({ references: [REFERENCE, 'TXN-other'] }), undefined],
  ['that no client would send', written({ reference: 'TXN-a/../b' }), undefined],
];

test.each(naming)('reports unknown after a 409 that names a transaction %s', async (_, body, reference) => {
  const service = await startServiceWith(409, body);
  const journal = memoryJournal();
  const client = service.client({ maxRetries: 3, journal });
  const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
  expect(failure).toMatchObject({
    name: 'OutcomeUnknownError',
    outcome: 'unknown',
    reference,
    retryable: false,
  });
  expect(failure).toMatchObject({ cause: { name: 'ConflictError', outcome: 'unknown', status: 409 } });
  expect(await journal.read('order-17')).toMatchObject({
    state: 'unknown',
    ...(reference ? { reference } : {}),
  });
  expect(service.requests).toHaveLength(1);
});

test.each([400, 401, 402, 403, 404, 405, 409, 422, 425, 429, 451, 499, 500, 503])(
  'never calls a %i rejected that names a transaction',
  async (status) => {
    const service = await startServiceWith(status, written({ reference: REFERENCE }), { 'retry-after': '0' });
    const failure = await catchError(service.client({ maxRetries: 3 }).chargeMobileMoney(charge));
    expect(failure).toMatchObject({ outcome: 'unknown', reference: REFERENCE, retryable: false });
    expect(service.requests).toHaveLength(1);
  },
);

test.each([
  ['a message', { status: false, message: `Exists: ${REFERENCE}` }],
  ['lower case', { status: false, data: { id: 'txn-1' } }],
])('reports unknown after status: false that names a transaction in %s', async (_, body) => {
  const service = await startServiceWith(200, written(body));
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
});

test.each(['location', 'content-location', 'link'])('finds a transaction in the header %s', async (name) => {
  const service = await startServiceWith(409, '', { [name]: `</transactions/verify/${REFERENCE}>` });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: REFERENCE });
});

test.each<[string, Body, Record<string, string>]>([
  ['is longer than 1 MiB', `"${'a'.repeat(1024 * 1024)} ${REFERENCE}"`, {}],
  [
    'has an unknown content encoding',
    Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xff),
    { 'content-encoding': 'made-up' },
  ],
])('reports unknown after a 422 whose body %s', async (_, body, headers) => {
  const service = await startServiceWith(422, body, headers);
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', cause: { status: 422 } });
});

test.each<[string, Body]>([
  ['nothing', ''],
  ['the prefix alone', written({ message: 'A reference begins with TXN- and goes on' })],
  ['a word that ends like it', written({ code: 'TXN_FAILED', message: 'No txn.' })],
  ['a body nested deeply', '['.repeat(100_000)],
])('reports rejected after a 409 with %s', async (_, body) => {
  const service = await startServiceWith(409, body);
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'ConflictError', outcome: 'rejected' });
});

test('keeps the 409 of a read that names the transaction it asks for', async () => {
  const service = await startServiceWith(409, written({ reference: REFERENCE }));
  const failure = await catchError(service.client().verify(REFERENCE));
  expect(failure).toMatchObject({ name: 'ConflictError', outcome: null });
});

test.each([
  ['a key', 'sk_live_9fJ2kLm4Qw7RtZ', { key: 'sk_live_9fJ2kLm4Qw7RtZ' }],
  ["the customer's phone number", '0244123456', { key: API_KEY, phone: '0244123456' }],
  ["the customer's email address", EMAIL, { key: API_KEY, email: EMAIL }],
])('never takes %s after TXN- for a reference', async (_, secret, secrets) => {
  const service = await startServiceWith(409, written({ message: 'Exists', id: `TXN-${secret}` }));
  const journal = memoryJournal();
  const client = service.client({ journal });
  const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: undefined });
  const record = await journal.read('order-17');
  expect(record).toMatchObject({ state: 'unknown' });
  expectNoSecrets([failure, record], secrets);
});
