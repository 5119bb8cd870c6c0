import { describe, expect, test, vi } from 'vitest';
import {
  OutcomeUnknownError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { catchError } from '../../helpers/service.ts';
import {
  charge,
  chargeWithFault,
  payment,
  startMock,
  unknownBecauseOf,
  useFakeClock,
  verifyWithFault,
} from './start-mock.ts';

describe('a mismatch', () => {
  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount', '25.50', '2.55'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency', 'GHS', 'NGN'],
  ] as const)('%j on a charge and on initialize is a mismatch', async (fault, field, expected, actual) => {
    const started = startMock();
    const mismatches = [{ field, expected, actual }];
    const { error, charged } = await chargeWithFault(started, fault);
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ outcome: 'unknown', reference: 'TXN-000001', mismatches });
    expect(charged).toBe(1);
    expect(started.mock.charges).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);

    started.mock.fault('initialize', fault);
    expect(await catchError(started.payments.initialize(payment))).toMatchObject({ mismatches });
  });

  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency'],
  ] as const)('%j on a verify with expect is a mismatch', async (fault, field) => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', fault);
    const error = await catchError(
      payments.verify(reference, { expect: { amount: '25.50', currency: 'GHS' } }),
    );
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ mismatches: [{ field }] });
  });

  test('wrongReference on a verify is a mismatch', async () => {
    const started = startMock();
    const error = await verifyWithFault(started, { kind: 'wrongReference', reference: 'TXN-999999' });
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({
      mismatches: [{ field: 'reference', expected: 'TXN-000001', actual: 'TXN-999999' }],
    });
  });

  test('makes a charge unknown after an invalid reference', async () => {
    const started = startMock();
    const { error } = await chargeWithFault(started, { kind: 'wrongReference', reference: '17' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject(unknownBecauseOf(UnexpectedResponseError));
  });
});

describe('unrecognisedStatus', () => {
  test('is no error on a verify, and not final', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    mock.fault('verify', { kind: 'unrecognisedStatus', status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'unrecognised', raw_status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'pending' });
  });

  test('is no error on a charge', async () => {
    const { mock, payments } = startMock();
    mock.fault('chargeMobileMoney', { kind: 'unrecognisedStatus' });
    expect(await payments.chargeMobileMoney(charge)).toMatchObject({
      status: 'unrecognised',
      raw_status: 'reversed',
    });
  });
});

test('lateApproval: the customer pays after the wait has ended', async () => {
  useFakeClock('2026-11-21T10:15:00Z');
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
