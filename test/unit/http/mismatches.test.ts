import { expect, test } from 'vitest';
import type { Expectation, OperationName } from '../../../src/index.ts';
import { calls, REFERENCE } from '../../helpers/calls.ts';
import { catchError, EMAIL, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

const amount = { field: 'amount', expected: '25.50' };
const currency = { field: 'currency', expected: 'GHS' };

test.each<[OperationName, object, Expectation | undefined, object[]]>([
  ['initialize', { amount: '255.00' }, undefined, [{ ...amount, actual: '255.00' }]],
  ['initialize', { currency: 'USD' }, undefined, [{ ...currency, actual: 'USD' }]],
  ['chargeMobileMoney', { amount: '255.00' }, undefined, [{ ...amount, actual: '255.00' }]],
  ['chargeMobileMoney', { currency: 'USD' }, undefined, [{ ...currency, actual: 'USD' }]],
  ['verify', { reference: 'TXN-other' }, { amount: '25.50' }, [{ field: 'reference', actual: 'TXN-other' }]],
  ['verify', { amount: '2.55' }, { amount: '25.50' }, [{ ...amount, actual: '2.55' }]],
  ['verify', { currency: 'NGN' }, { amount: 25.5, currency: 'GHS' }, [{ ...currency, actual: 'NGN' }]],
  [
    'verify',
    { amount: '1', currency: 'NGN' },
    { amount: 25.5, currency: 'ghs' },
    [amount, { field: 'currency' }],
  ],
])('refuses the result of %s with %o, without a retry', async (operation, data, expected, mismatches) => {
  const body = successBodies[operation](data);
  const service = await startService(200, body);
  const client = service.client({ maxRetries: 3 });
  const call = expected ? client.verify(REFERENCE, { expect: expected }) : calls[operation](client);
  const failure = await catchError(call);
  expect(failure).toMatchObject({
    name: 'TransactionMismatchError',
    code: 'transaction_mismatch',
    operation,
    outcome: operation === 'verify' ? null : 'unknown',
    retryable: false,
    reference: body.data.reference,
    mismatches,
    transaction: { reference: body.data.reference },
  });
  expect(service.requests).toHaveLength(1);
});

test('compares amounts as decimals, and currencies without case', async () => {
  const service = await startService((response, { method }) => {
    const created = successBodies.initialize({ amount: '25.500', currency: 'ghs' });
    sendJson(response, 200, method === 'GET' ? successBodies.verify() : created);
  });
  const client = service.client();
  const created = await client.initialize({ ...payment, amount: 25.5 });
  expect(created).toMatchObject({ amount: '25.50', currency: 'ghs' });
  const expected = { amount: 25.5, currency: 'ghs' };
  expect(await client.verify(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
});

test('redacts an email in the reference that was expected', async () => {
  const service = await startService(200, successBodies.verify({ reference: 'TXN-other' }));
  const failure = await catchError(service.client().verify(`TXN-${EMAIL}`));
  expect(failure).toMatchObject({ mismatches: [{ field: 'reference', expected: '[REDACTED]' }] });
  expect(String(failure)).not.toContain(EMAIL);
});
