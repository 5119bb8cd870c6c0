import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  OutcomeUnknownError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';
import { chargeUnder, unknown, verifyUnder } from './under-faults.ts';

describe('another transaction than was asked for', () => {
  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount', '25.50', '2.55'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency', 'GHS', 'NGN'],
  ] as const)('%j on a charge and on initialize', async (fault, field, expected, actual) => {
    const shop = startMock();
    const mismatches = [{ field, expected, actual }];
    const { error, charged } = await chargeUnder(shop, fault);
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ outcome: 'unknown', reference: 'TXN-000001', mismatches });
    expect(charged).toBe(1);
    expect(shop.mock.charges).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);

    shop.mock.fault('initialize', fault);
    expect(await failureOf(shop.payments.initialize(payment))).toMatchObject({ mismatches });
  });

  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency'],
  ] as const)('%j on a verify with expect', async (fault, field) => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', fault);
    const error = await failureOf(
      payments.verify(reference, { expect: { amount: '25.50', currency: 'GHS' } }),
    );
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ mismatches: [{ field }] });
  });

  test('wrongReference on a verify', async () => {
    const shop = startMock();
    const error = await verifyUnder(shop, { kind: 'wrongReference', reference: 'TXN-999999' });
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({
      mismatches: [{ field: 'reference', expected: 'TXN-000001', actual: 'TXN-999999' }],
    });
  });

  test('a reference that is none, on a charge', async () => {
    const shop = startMock();
    const { error } = await chargeUnder(shop, { kind: 'wrongReference', reference: '17' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject(unknown(UnexpectedResponseError));
  });
});

describe('unrecognisedStatus', () => {
  test('is no error, and not final', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    mock.fault('verify', { kind: 'unrecognisedStatus', status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'unrecognised', raw_status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'pending' });
  });

  test('of a charge', async () => {
    const { mock, payments } = startMock();
    mock.fault('chargeMobileMoney', { kind: 'unrecognisedStatus' });
    expect(await payments.chargeMobileMoney(charge)).toMatchObject({
      status: 'unrecognised',
      raw_status: 'reversed',
    });
  });
});

test('lateApproval: the customer pays after the merchant gave up', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T10:15:00Z') });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { mock, payments } = startMock();
  mock.fault('chargeMobileMoney', { kind: 'lateApproval', after: 11 * 60_000 });
  const { reference } = await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.parse('2026-11-21T10:25:00Z'));
  expect((await payments.verify(reference)).status).toBe('pending');
  vi.setSystemTime(Date.parse('2026-11-21T10:30:00Z'));
  expect(await payments.verify(reference)).toMatchObject({
    status: 'success',
    paid_at: '2026-11-21T10:26:00+00:00',
  });
});
