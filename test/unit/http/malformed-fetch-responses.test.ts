import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { PaymentsClient, PaymentsError } from '../../../src/index.ts';
import { callOperation, operationNames } from '../../helpers/allowed-ends.ts';
import { API_KEY, successBodies } from '../../helpers/service.ts';

const headers = new Headers();
const taken = JSON.stringify(successBodies.chargeMobileMoney());

/** The body of a Response that gives just this. */
const bodyOf = (read: () => unknown, cancel: unknown = async () => {}) => ({
  getReader: () => ({ read, cancel }),
});

/** Values that a merchant's fetch, or a fake one, can return instead of a Response. */
const odd: [what: string, returned: unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['text', taken],
  ['an empty object', {}],
  ['no status', { headers, body: new Response(taken).body }],
  ['a status that is text', { status: '422', headers, body: null }],
  ['a status that is no number', { status: Number.NaN, headers, body: new Response(taken).body }],
  ['the error response', Response.error()],
  ['no headers, and a body only by json()', { status: 200, json: async () => JSON.parse(taken) }],
  ['headers in a plain object', { status: 200, headers: {}, body: null }],
  [
    'headers that throw',
    {
      status: 500,
      headers: {
        get: () => {
          throw new TypeError('no headers');
        },
      },
      body: null,
    },
  ],
  ['headers that are numbers', { status: 503, headers: { get: () => 5 }, body: null }],
  ['a body that is text', { status: 200, headers, body: taken }],
  ["a body that is a stream of Node's", { status: 200, headers, body: Readable.from([taken]) }],
  [
    'pieces that are text',
    { status: 200, headers, body: bodyOf(async () => ({ done: false, value: taken })) },
  ],
  ['pieces that are nothing', { status: 200, headers, body: bodyOf(async () => undefined) }],
  [
    'a body too long that cannot be cancelled',
    {
      status: 200,
      headers,
      body: bodyOf(async () => ({ done: false, value: new Uint8Array(2 ** 21) }), undefined),
    },
  ],
];

const clientWith = (fetch: () => unknown) =>
  new PaymentsClient(Object({ apiKey: API_KEY, baseUrl: 'https://payments.example', maxRetries: 0, fetch }));

describe.each(operationNames)('%s', (operation) => {
  test.each(odd)('claims nothing if fetch returns %s', async (_, returned) => {
    const end = await callOperation(
      clientWith(async () => returned),
      operation,
    );
    expect(end).toMatchObject({ error: expect.any(PaymentsError) });
    expect(end).toMatchObject({ error: { outcome: operation === 'verify' ? null : 'unknown', operation } });
  });

  test('claims nothing if fetch throws before it returns a promise', async () => {
    const broken = clientWith(() => {
      throw new TypeError('not a function');
    });
    const { error } = { error: undefined, ...(await callOperation(broken, operation)) };
    expect(error).toBeInstanceOf(PaymentsError);
    expect(error).toMatchObject({ outcome: operation === 'verify' ? null : 'unknown', operation });
  });
});

test('judges by the status if the headers cannot be read', async () => {
  const refused = clientWith(async () => ({ status: 422, headers: undefined, body: null }));
  expect(await callOperation(refused, 'chargeMobileMoney')).toMatchObject({
    error: { name: 'InvalidRequestError', outcome: 'rejected' },
  });
});

test('reports unknown if the runtime fails while a response is read', async () => {
  const client = clientWith(async () => ({
    status: 200,
    headers,
    body: bodyOf(async () => ({ done: true })),
  }));
  vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(() => {
    throw new RangeError(`no memory for ${API_KEY}`);
  });
  const end = await callOperation(client, 'chargeMobileMoney');
  const message = expect.stringMatching(/the client itself failed.* A charge might exist/);
  expect(end).toMatchObject({ error: { name: 'OutcomeUnknownError', outcome: 'unknown', message } });
  expect(inspect(end, { depth: 9 })).not.toContain(API_KEY);
  expect(await callOperation(client, 'verify')).toMatchObject({ error: { outcome: null, retryable: true } });
});
