import { expect, test } from 'vitest';
import {
  ConnectionError,
  OutcomeUnknownError,
  RateLimitError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { charge, payment, startTestSandbox } from './start-sandbox.ts';

const once = { times: '1' };

test.each([
  [{ kind: 'status', 'status.status': '503', 'status.body': 'empty' }, ServerError],
  [{ kind: 'rateLimited', 'rateLimited.retryAfter': '7' }, RateLimitError],
  [{ kind: 'reset' }, ConnectionError],
  [{ kind: 'truncated' }, UnexpectedResponseError],
  [{ kind: 'wrongReference', 'wrongReference.reference': 'TXN-another' }, TransactionMismatchError],
  [{ kind: 'wrongAmount', 'wrongAmount.amount': '2.55' }, TransactionMismatchError],
  [{ kind: 'wrongCurrency', 'wrongCurrency.currency': 'USD' }, TransactionMismatchError],
])('breaks one verify with %o', async (fault, errorClass) => {
  const { payments, press, page } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  expect((await press('/faults', { operation: 'verify', ...once, ...fault })).status).toBe(303);
  expect(await page('/')).toContain('1 remaining');

  const order = { expect: { amount: '25.50', currency: 'GHS' } };
  await expect(payments.verify(reference, order)).rejects.toBeInstanceOf(errorClass);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('breaks every charge until stopped', async () => {
  const { sandbox, payments, press, page } = await startTestSandbox();
  const fields = {
    operation: 'chargeMobileMoney',
    kind: 'status',
    'status.status': '502',
    'status.body': 'html',
    times: 'always',
  };
  await press('/faults', { ...fields, 'status.accepted': 'yes' });
  for (let count = 1; count <= 3; count++) {
    await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(sandbox.charges).toHaveLength(count);
  }
  expect(await page('/')).toContain('until stopped: status code: 502, html, the service acts first');
  await press('/faults/stop');
  await expect(payments.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
});

test('shows the prompt of a late approval until then', async () => {
  const { sandbox, payments, press, page } = await startTestSandbox();
  const fault = { kind: 'lateApproval', 'lateApproval.after': '60' };
  await press('/faults', { operation: 'chargeMobileMoney', ...fault, ...once });
  const { reference } = await payments.chargeMobileMoney(charge);
  expect(await page('/phone')).toContain(`id="${reference}"`);
  sandbox.advance(60_000);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
  expect(await page('/phone')).not.toContain(`id="${reference}"`);
});

test.each([
  {},
  { operation: 'verify', kind: 'nonsense' },
  { operation: 'refund', kind: 'reset' },
  { operation: 'verify', kind: 'status', 'status.status': '100', 'status.body': 'html' },
  { operation: 'verify', kind: 'status', 'status.status': '2e2.5', 'status.body': 'html' },
  { operation: 'verify', kind: 'reset', times: '0' },
  { operation: 'verify', kind: 'rateLimited', 'rateLimited.retryAfter': '-1' },
  { operation: 'verify', kind: 'lateApproval', 'lateApproval.after': '5' },
  { operation: 'initialize', kind: 'unrecognisedStatus', 'unrecognisedStatus.status': 'reversed' },
])('responds with 400 to the invalid fault %o', async (fields) => {
  const { press, page } = await startTestSandbox();
  const response = await press('/faults', { ...once, ...fields });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('Invalid fault');
  expect(await page('/')).toContain('No fault is queued');
});
