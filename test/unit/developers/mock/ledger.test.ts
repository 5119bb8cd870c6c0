import { describe, expect, test, vi } from 'vitest';
import { createMockPayments } from '../../../../src/developers/mock/index.ts';
import { charge, startMock, useFakeClock } from './start-mock.ts';

/** Starts a mock on a fake clock, and makes transactions of it. */
function startPlans() {
  useFakeClock('2026-11-21T10:15:00Z');
  const { mock, payments } = startMock();
  const pass = (time: number) => vi.setSystemTime(Date.now() + time);
  const create = async () => (await payments.chargeMobileMoney(charge)).reference;
  const verify = async (reference: string) => (await payments.verify(reference)).status;
  const list = () => mock.transactions.map(({ status }) => status);
  return { mock, payments, pass, create, verify, list };
}

describe('settleAfter', () => {
  test('ends a transaction on the clock of the test, without a timer', async () => {
    const { mock, payments, pass, create, verify, list } = startPlans();
    const reference = await create();
    pass(1_000);
    const timers = vi.getTimerCount();
    mock.settleAfter(reference, 20_000, 'success');
    expect(vi.getTimerCount()).toBe(timers);
    pass(19_999);
    expect([await verify(reference), ...list()]).toEqual(['pending', 'pending']);
    pass(5_001);
    expect(list()).toEqual(['success']);
    expect((await payments.verify(reference)).paid_at).toBe('2026-11-21T10:15:21+00:00');
  });

  test('counts `next` from the creation of the next transaction', async () => {
    const { mock, pass, create, list } = startPlans();
    mock.settleAfter('next', 1_000, 'failed');
    mock.settleAfter('next', 2_000, 'abandoned');
    pass(60_000);
    for (let count = 0; count < 3; count++) await create();
    expect(list()).toEqual(['pending', 'pending', 'pending']);
    pass(1_000);
    expect(list()).toEqual(['failed', 'pending', 'pending']);
    pass(1_000);
    expect(list()).toEqual(['failed', 'abandoned', 'pending']);
  });

  test('is cancelled when the test ends the transaction', async () => {
    const { mock, pass, create, list } = startPlans();
    const reference = await create();
    mock.settleAfter(reference, 1_000, 'success');
    mock.decline(reference);
    pass(5_000);
    expect(list()).toEqual(['failed']);
  });
});

describe('script', () => {
  test('sets one status for each verify, and the last one stays', async () => {
    const { mock, create, verify, list } = startPlans();
    mock.script('next', ['processing', 'failed', 'success']);
    const reference = await create();
    // Only a verify is a step.
    expect(list()).toEqual(['pending']);
    const seen = [];
    for (let count = 0; count < 4; count++) seen.push(await verify(reference), ...list());
    expect(seen).toEqual(
      ['processing', 'failed', 'success', 'success'].flatMap((status) => [status, status]),
    );
  });

  test('is the last plan of a reference, and each `next` is for one more', async () => {
    const { mock, create, verify } = startPlans();
    const reference = await create();
    mock.script(reference, ['failed']);
    mock.settleAfter(reference, 60_000, 'success');
    expect(await verify(reference)).toBe('pending');
    mock.script(reference, ['failed']);
    expect(await verify(reference)).toBe('failed');
    mock.settleAfter('next', 0, 'success');
    mock.script('next', ['failed']);
    expect([await verify(await create()), await verify(await create())]).toEqual(['success', 'failed']);
  });
});

test.each([
  ...[-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, '5'].map((delay) => [
    'settleAfter',
    [delay, 'success'],
    'The delay must be',
  ]),
  ...['paid', 'pending', undefined].map((status) => ['settleAfter', [5, status], 'A transaction settles as']),
  ['script', [[]], 'at least one status'],
  ['script', [['pending', 'paid']], 'Unknown status paid'],
] as [control: 'settleAfter' | 'script', args: unknown[], message: string][])(
  '%s refuses %o',
  (control, args, message) => {
    const plan = () => Reflect.apply(createMockPayments()[control], undefined, ['next', ...args]);
    expect(plan).toThrow(RangeError);
    expect(plan).toThrow(message);
  },
);
