import { describe, expect, test } from 'vitest';
import {
  type Expectation,
  OutcomeUnknownError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

const withoutReference = { status: true, data: { amount: '25.50', currency: 'GHS', status: 'processing' } };

describe.each<[string, string]>([
  ['no body', ''],
  ['HTML', '<html>OK</html>'],
  ['text', 'OK'],
  ['truncated JSON', '{"status":true,"data":{"reference":"TXN-8f2c'],
  ['JSON null', 'null'],
  ['an empty object', '{}'],
  ['a list', '[true]'],
  ['no data', '{"status":true}'],
  ['no reference', JSON.stringify(withoutReference)],
  ['a reference of another form', JSON.stringify({ ...withoutReference, data: { reference: '../x' } })],
  ['a status that is not true', JSON.stringify({ ...successBodies.chargeMobileMoney(), status: 'success' })],
  ['an amount that is no decimal', JSON.stringify(successBodies.chargeMobileMoney({ amount: 'a lot' }))],
  ['an amount with more behind it', JSON.stringify(successBodies.chargeMobileMoney({ amount: '25.50 GHS' }))],
  ['an amount in thousands', JSON.stringify(successBodies.chargeMobileMoney({ amount: '25,500.00' }))],
])('a 2xx with %s', (_what, body) => {
  const start = (status = 200) => startService((response) => response.writeHead(status).end(body));

  test.each(posts)('to %s is OutcomeUnknownError, and is not retried', async (operation) => {
    const service = await start(201);
    const failure = await catchError(calls[operation](service.client({ maxRetries: 3 })));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({
      operation,
      outcome: 'unknown',
      retryable: false,
      cause: { name: 'UnexpectedResponseError', outcome: 'unknown', status: 201, retryable: false },
    });
    expect(service.requests).toHaveLength(1);
  });

  test('to verify is UnexpectedResponseError, and is retryable', async () => {
    const service = await start();
    const failure = await catchError(service.client().verify(REFERENCE));
    expect(failure).toBeInstanceOf(UnexpectedResponseError);
    expect(failure).toMatchObject({
      name: 'UnexpectedResponseError',
      code: 'unexpected_response',
      operation: 'verify',
      outcome: null,
      retryable: true,
      status: 200,
    });
  });
});

test.each([204, 205])('reports unknown after a %i, which has no body', async (status) => {
  const service = await startService((response) => response.writeHead(status).end());
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { status } });
});

test('keeps the reference that an unexpected response names', async () => {
  const body = { status: true, data: { reference: REFERENCE } };
  const service = await startService((response) => sendJson(response, 200, body));
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: REFERENCE, cause: { body } });
  expect(String(failure)).toContain(`verify ${REFERENCE}`);
});

test('reports unknown after a body shorter than its content-length', async () => {
  const service = await startRawService((socket) => {
    socket.end(
      `HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n${JSON.stringify(successBodies.chargeMobileMoney())}`,
    );
  });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'ConnectionError' } });
});

test('cuts off a body at 1 MiB, and closes the connection', async () => {
  const chunk = `${' '.repeat(0xffff)}\n`;
  let sent = 0;
  let closed: () => void;
  const cut = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const service = await startRawService((socket) => {
    socket.on('close', () => closed());
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const send = () => {
      while (!socket.destroyed && socket.write(`10000\r\n${chunk}\r\n`)) sent += chunk.length;
    };
    socket.on('drain', send);
    send();
  });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'UnexpectedResponseError' } });
  expect(String(failure)).toContain('longer than any of the service');
  await cut;
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test('reads a body of exactly 1 MiB', async () => {
  const text = JSON.stringify(successBodies.chargeMobileMoney());
  const service = await startService((response) => response.end(text.padEnd(1024 * 1024)));
  expect(await service.client().chargeMobileMoney(charge)).toMatchObject({ reference: REFERENCE });
});

test.each<[string, object, object]>([
  ['amount', { amount: '255.00' }, { field: 'amount', expected: '25.50', actual: '255.00' }],
  ['currency', { currency: 'USD' }, { field: 'currency', expected: 'GHS', actual: 'USD' }],
])(
  'throws an unknown TransactionMismatchError for a POST with another %s',
  async (_field, data, mismatch) => {
    for (const operation of posts) {
      const body = successBodies[operation](data);
      const service = await startService((response) => sendJson(response, 200, body));
      const failure = await catchError(calls[operation](service.client({ maxRetries: 3 })));
      expect(failure).toBeInstanceOf(TransactionMismatchError);
      expect(failure).toMatchObject({
        name: 'TransactionMismatchError',
        code: 'transaction_mismatch',
        operation,
        outcome: 'unknown',
        retryable: false,
        reference: REFERENCE,
        mismatches: [mismatch],
        transaction: body.data,
      });
      expect(service.requests).toHaveLength(1);
    }
  },
);

test.each<[string, object, Expectation, string[]]>([
  ['another reference', { reference: 'TXN-other' }, { amount: '25.50' }, ['reference']],
  ['another amount than expected', { amount: '2.55' }, { amount: '25.50' }, ['amount']],
  ['another currency than expected', { currency: 'NGN' }, { amount: 25.5, currency: 'GHS' }, ['currency']],
  [
    'nothing as expected',
    { amount: '1.00', currency: 'NGN' },
    { amount: 25.5, currency: 'ghs' },
    ['amount', 'currency'],
  ],
])(
  'throws TransactionMismatchError without a retry for verify of %s',
  async (_what, data, expect_, fields) => {
    const body = successBodies.verify(data);
    const service = await startService((response) => sendJson(response, 200, body));
    const failure = await catchError(
      service.client({ maxRetries: 3 }).verify(REFERENCE, { expect: expect_ }),
    );
    expect(failure).toBeInstanceOf(TransactionMismatchError);
    expect(failure).toMatchObject({
      operation: 'verify',
      outcome: null,
      retryable: false,
      reference: body.data.reference,
      mismatches: fields.map((field) => ({ field })),
      transaction: body.data,
    });
    expect(service.requests).toHaveLength(1);
  },
);

test('compares amounts as decimals, and currencies without case', async () => {
  const service = await startService((response, { method }) =>
    sendJson(
      response,
      200,
      method === 'GET'
        ? successBodies.verify()
        : successBodies.initialize({ amount: '25.500', currency: 'ghs' }),
    ),
  );
  expect(await service.client().initialize({ ...payment, amount: 25.5 })).toMatchObject({
    amount: '25.50',
    currency: 'ghs',
  });
  const expected = { amount: 25.5, currency: 'ghs' };
  expect(await service.client().verify(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
});
