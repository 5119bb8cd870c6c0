import { expect, test } from 'vitest';
import { type Expectation, TransactionMismatchError } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { catchError, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

test.each<[string, object, object]>([
  ['amount', { amount: '255.00' }, { field: 'amount', expected: '25.50', actual: '255.00' }],
  ['currency', { currency: 'USD' }, { field: 'currency', expected: 'GHS', actual: 'USD' }],
])(
  'throws an unknown TransactionMismatchError for a POST with another %s',
  async (_field, data, mismatch) => {
    for (const operation of posts) {
      const body = successBodies[operation](data);
      const service = await startService(200, body);
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
    const service = await startService(200, body);
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
