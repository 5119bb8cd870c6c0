import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperationName } from '../../src/index.ts';
import { callOperation, expectAllowedEnd } from '../helpers/allowed-ends.ts';
import { operationNames, REFERENCE } from '../helpers/calls.ts';
import { startService, successBodies } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

/** Values for a field of a response: odd ones, and those that nearly fit. */
const fieldValue = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    REFERENCE,
    'TXN-other',
    'success',
    'processing',
    '25.5',
    '025.500',
    '25.51',
    'ghs',
    true,
  ),
  fc.constantFrom<unknown>(
    false,
    null,
    25.5,
    '',
    'https://pay.example/1',
    'javascript:alert(1)',
    '2026-11-21',
  ),
);
const fieldName = fc.constantFrom('reference', 'status', 'amount', 'currency', 'customer_email', 'paid_at');
const oddName = fc.constantFrom('checkout_url', '__proto__', 'constructor', 'raw_status', 'toString', 'then');
const oddField = fc.oneof(
  fc.tuple(fc.oneof(fieldName, oddName), fieldValue),
  fc.constantFrom<[string, unknown]>(['amount', '25.51'], ['currency', 'USD'], ['reference', 'TXN-other']),
);

/** A valid response with some of its fields added, replaced or removed. */
const nearlyRight = (operation: OperationName) =>
  fc
    .record({
      put: fc.array(oddField, { maxLength: 2 }),
      drop: fc.option(fieldName, { freq: 3 }),
      outer: fc.option(fc.tuple(fc.constantFrom('status', 'message', 'data', '__proto__'), fieldValue), {
        freq: 3,
      }),
    })
    .map(({ put, drop, outer }) => {
      const whole = successBodies[operation]();
      const kept = Object.entries(whole.data).filter(([name]) => name !== drop);
      const data = Object.fromEntries([...kept, ...put]);
      return JSON.stringify(
        Object.fromEntries([...Object.entries({ ...whole, data }), ...(outer ? [outer] : [])]),
      );
    });

const asBytes = (text: fc.Arbitrary<string>) => text.map((it) => Buffer.from(it));
const bodyFor = (operation: OperationName) =>
  fc.oneof(
    { weight: 4, arbitrary: asBytes(nearlyRight(operation)) },
    { weight: 2, arbitrary: asBytes(fc.json()) },
    { weight: 1, arbitrary: asBytes(nearlyRight(operation).map((text) => text.slice(0, -3))) },
    { weight: 1, arbitrary: asBytes(fc.string({ unit: 'binary', maxLength: 400 })) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)) },
  );
const status = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(200, 201, 202) },
  { weight: 1, arbitrary: fc.constantFrom(301, 400, 401, 408, 422, 429, 500, 502, 503) },
  // Not 421: fetch itself retries a request after it, see unusual-statuses.test.ts.
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 599 }).filter((code) => code !== 421) },
);
const contentType = fc.constantFrom(
  'application/json',
  'text/html',
  'application/octet-stream',
  'nonsense',
  '',
);
const encoding = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'identity', 'gzip, gzip', 'made-up'),
  },
);

const responseTo = (operation: OperationName) =>
  fc.record({ status, body: bodyFor(operation), type: contentType, coding: encoding });

/** One of each kind, so that a short run meets them all. */
function examplesFor(operation: OperationName) {
  const { data, ...envelope } = successBodies[operation]();
  const bodies = [
    [200, { ...envelope, data }],
    [200, { ...envelope, data: { ...data, amount: '25.51', reference: 'TXN-other' } }],
    [200, { ...envelope, data: {} }],
    [410, {}],
    [422, {}],
    [503, {}],
  ] as const;
  return bodies.map(([status, body]): [{ status: number; body: Buffer; type: string; coding: string }] => [
    { status, body: Buffer.from(JSON.stringify(body)), type: 'application/json', coding: '' },
  ]);
}

test.each(operationNames)('%s ends in a typed result or a true error (property)', async (operation) => {
  let send = (_: ServerResponse) => {};
  const service = await startService((response) => send(response));
  const client = service.client();
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(responseTo(operation), async ({ status, body, type, coding }) => {
      send = (response) => {
        if (type) response.setHeader('content-type', type);
        if (coding) response.setHeader('content-encoding', coding);
        response.writeHead(status).end(body);
      };
      const before = service.requests.length;
      const end = await callOperation(client, operation);
      const text = new TextDecoder().decode(body);
      kinds.add(
        expectAllowedEnd(
          operation,
          { status, body: text, breaksFetch: coding !== '' || status === 407 },
          end,
        ),
      );
      expect(service.requests.length - before).toBe(1);
    }),
    { numRuns: chooseSize(100, 1000), examples: examplesFor(operation) },
  );
  const unknown =
    operation === 'verify' ? ['UnexpectedResponseError', 'ServerError'] : ['OutcomeUnknownError'];
  const expected = ['result', 'TransactionMismatchError', 'APIError', 'InvalidRequestError', ...unknown];
  expect([...kinds]).toEqual(expect.arrayContaining(expected));
  expect(Object.keys(Object.prototype)).toEqual([]);
});
