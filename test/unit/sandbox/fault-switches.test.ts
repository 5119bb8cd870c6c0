import { expect, test } from 'vitest';
import {
  ConnectionError,
  OutcomeUnknownError,
  RateLimitError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { charge, payment, start } from './start.ts';

const once = { times: '1' };

test.each([
  [{ kind: 'status', code: '503', body: 'empty' }, ServerError],
  [{ kind: 'rateLimited', retryAfter: '7' }, RateLimitError],
  [{ kind: 'reset' }, ConnectionError],
  [{ kind: 'truncated' }, UnexpectedResponseError],
  [{ kind: 'wrongReference', reference: 'TXN-another' }, TransactionMismatchError],
  [{ kind: 'wrongAmount', amount: '2.55' }, TransactionMismatchError],
  [{ kind: 'wrongCurrency', currency: 'USD' }, TransactionMismatchError],
])('the dashboard breaks a verify with %o, once', async (fault, errorClass) => {
  const { payments, press, page } = await start();
  const { reference } = await payments.initialize(payment);
  expect((await press('/faults', { operation: 'verify', ...once, ...fault })).status).toBe(303);
  expect(await page('/')).toContain('1 to come');

  const expect_ = { amount: '25.50', currency: 'GHS' };
  await expect(payments.verify(reference, { expect: expect_ })).rejects.toBeInstanceOf(errorClass);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('the dashboard breaks charges until it is told to stop', async () => {
  const { sandbox, payments, press, page } = await start();
  const fields = {
    operation: 'chargeMobileMoney',
    kind: 'status',
    code: '502',
    body: 'html',
    times: 'always',
  };
  await press('/faults', { ...fields, accepted: 'yes' });
  for (let count = 1; count <= 3; count++) {
    await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(sandbox.charges).toHaveLength(count);
  }
  expect(await page('/')).toContain('until stopped: status 502, after the service acted');
  await press('/faults/stop');
  await expect(payments.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
});

test('a charge that the dashboard lets be approved late rings until then', async () => {
  const { payments, press, page } = await start();
  await press('/faults', { operation: 'chargeMobileMoney', kind: 'lateApproval', after: '0.3', ...once });
  const { reference } = await payments.chargeMobileMoney(charge);
  expect(await page('/phone')).toContain(`id="${reference}"`);
  await expect(payments.waitForFinalStatus(reference)).resolves.toMatchObject({ status: 'success' });
  expect(await page('/phone')).not.toContain(`id="${reference}"`);
});

test.each([
  {},
  { operation: 'verify', kind: 'nonsense' },
  { operation: 'refund', kind: 'reset' },
  { operation: 'verify', kind: 'status', code: '100', body: 'html' },
  { operation: 'verify', kind: 'status', code: '2e2.5', body: 'html' },
  { operation: 'verify', kind: 'reset', times: '0' },
  { operation: 'verify', kind: 'rateLimited', retryAfter: '-1' },
  { operation: 'verify', kind: 'lateApproval', after: '5' },
  { operation: 'initialize', kind: 'unrecognisedStatus', status: 'reversed' },
])('the dashboard refuses a fault that cannot be: %o', async (fields) => {
  const { press, page } = await start();
  const answer = await press('/faults', { ...once, ...fields });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('That cannot break so');
  expect(await page('/')).toContain('nothing is to break');
});
