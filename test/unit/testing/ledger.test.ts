import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { charge, payment, startMock, useFakeClock } from './start-mock.ts';

describe('settleAfter', () => {
  beforeEach(() => useFakeClock('2026-11-21T10:15:00Z'));

  test('ends a transaction on the clock of the test, without a timer', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    vi.setSystemTime(Date.now() + 1_000);
    const timers = vi.getTimerCount();
    mock.settleAfter(reference, 20_000, 'success');
    expect(vi.getTimerCount()).toBe(timers);
    vi.setSystemTime(Date.now() + 19_999);
    expect((await payments.verify(reference)).status).toBe('pending');
    expect(mock.transactions).toMatchObject([{ status: 'pending' }]);

    vi.setSystemTime(Date.now() + 5_001);
    expect(mock.transactions).toMatchObject([{ status: 'success' }]);
    expect(await payments.verify(reference)).toMatchObject({
      status: 'success',
      paid_at: '2026-11-21T10:15:21+00:00',
    });
  });

  test('counts `next` from the creation of the next transaction', async () => {
    const { mock, payments } = startMock();
    mock.settleAfter('next', 1_000, 'failed');
    mock.settleAfter('next', 2_000, 'abandoned');
    vi.setSystemTime(Date.now() + 60_000);
    for (let count = 0; count < 3; count++) await payments.chargeMobileMoney(charge);
    const statuses = () => mock.transactions.map(({ status }) => status);
    expect(statuses()).toEqual(['pending', 'pending', 'pending']);
    vi.setSystemTime(Date.now() + 1_000);
    expect(statuses()).toEqual(['failed', 'pending', 'pending']);
    vi.setSystemTime(Date.now() + 1_000);
    expect(statuses()).toEqual(['failed', 'abandoned', 'pending']);
  });

  test('is cancelled when the test ends the transaction', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    mock.settleAfter(reference, 1_000, 'success');
    mock.decline(reference);
    vi.setSystemTime(Date.now() + 5_000);
    expect(mock.transactions).toMatchObject([{ status: 'failed' }]);
  });

  test('throws for an invalid delay', () => {
    const mock = createMockPayments();
    for (const delay of [-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15]) {
      expect(() => mock.settleAfter('next', delay, 'success')).toThrow(RangeError);
    }
    expect(() => Reflect.apply(mock.settleAfter, undefined, ['next', '5', 'success'])).toThrow(RangeError);
  });

  test.each(['paid', 'pending', undefined])('throws for the status %o', (status) => {
    const mock = createMockPayments();
    expect(() => Reflect.apply(mock.settleAfter, undefined, ['next', 5, status])).toThrow(RangeError);
  });
});

describe('script', () => {
  test('sets one status for each verify, and the last one stays', async () => {
    const { mock, payments } = startMock();
    mock.script('next', ['pending', 'processing', 'success']);
    const { reference } = await payments.initialize(payment);
    const seen = [];
    for (let count = 0; count < 5; count++) seen.push((await payments.verify(reference)).status);
    expect(seen).toEqual(['pending', 'processing', 'success', 'success', 'success']);
  });

  test('does not advance when the test reads the transactions', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.script(reference, ['failed', 'success']);
    expect(mock.transactions).toMatchObject([{ status: 'pending' }]);
    expect((await payments.verify(reference)).status).toBe('failed');
    expect(mock.transactions).toMatchObject([{ status: 'failed', paid_at: null }]);
    expect((await payments.verify(reference)).status).toBe('success');
  });

  test('throws when it is empty', () => {
    expect(() => createMockPayments().script('next', [])).toThrow(RangeError);
  });

  test('throws for an undocumented status', () => {
    const { script } = createMockPayments();
    expect(() => Reflect.apply(script, undefined, ['next', ['pending', 'paid']])).toThrow(
      'Unknown status paid',
    );
  });

  test('uses the last plan of a reference, and each `next` for one more', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.script(reference, ['failed']);
    mock.settleAfter(reference, 60_000, 'success');
    expect((await payments.verify(reference)).status).toBe('pending');
    mock.script(reference, ['failed']);
    expect((await payments.verify(reference)).status).toBe('failed');

    mock.settleAfter('next', 0, 'success');
    mock.script('next', ['failed']);
    const statuses = [];
    for (let count = 0; count < 2; count++) {
      const next = await payments.initialize(payment);
      statuses.push((await payments.verify(next.reference)).status);
    }
    expect(statuses).toEqual(['success', 'failed']);
  });
});
