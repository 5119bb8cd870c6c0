import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { listStates, settle, startReceiver } from './receive-webhooks.ts';
import { useFakeClock } from './start-mock.ts';

beforeEach(() => useFakeClock('2026-11-21T10:15:00Z'));

describe('late', () => {
  test.each([
    [{ kind: 'late' }, 10_000],
    [{ kind: 'late', delay: 90_000 }, 90_000],
  ] as const)('%j delivers after %d ms', async (fault, delay) => {
    const { mock, list, createPayment } = startReceiver();
    mock.webhooks.fault(fault);
    const reference = await createPayment();
    mock.approve(reference);
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'waiting', fault: 'late', dueAt: Date.now() + delay, createdAt: Date.now() },
    ]);
    await vi.advanceTimersByTimeAsync(delay - 1);
    expect(list()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(list()).toEqual([`success ${reference}`]);
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'delivered', dueAt: null }]);
  });

  test('keeps the status of its change in the payload', async () => {
    const { mock, list, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'late' });
    const reference = await createPayment();
    mock.abandon(reference);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(list()).toEqual([`success ${reference}`, `abandoned ${reference}`]);
  });
});

test('twice delivers one event two times, one after the other', async () => {
  const { mock, list, received, createPayment } = startReceiver(
    () => new Promise((resolve) => setTimeout(resolve, 100)),
  );
  mock.webhooks.fault({ kind: 'twice' });
  const reference = await createPayment();
  mock.approve(reference);
  await settle();
  expect(list()).toEqual([`success ${reference}`]);
  await vi.advanceTimersByTimeAsync(100);
  expect(list()).toEqual([`success ${reference}`, `success ${reference}`]);
  const ids = (name: string) => received.map(({ headers }) => headers[name]);
  expect(ids('x-sandbox-event')).toEqual(['whe_1', 'whe_1']);
  expect(ids('x-sandbox-delivery')).toEqual(['whd_1', 'whd_2']);
  expect(mock.webhooks.deliveries).toMatchObject([{ fault: 'twice' }, { fault: 'twice' }]);
});

test('lost never delivers, and is recorded', async () => {
  const { mock, list, createPayment } = startReceiver();
  mock.webhooks.fault({ kind: 'lost' });
  mock.approve(await createPayment());
  await mock.webhooks.flush();
  await vi.advanceTimersByTimeAsync(1_000_000);
  expect(list()).toEqual([]);
  expect(mock.webhooks.deliveries).toMatchObject([
    { state: 'lost', fault: 'lost', dueAt: null, attempts: [], url: 'handler' },
  ]);
});

describe('forged', () => {
  test.each([
    [{}, { status: 'success', amount: '25.50' }],
    [{ status: 'abandoned' }, { status: 'abandoned', amount: '25.50', paid_at: null }],
    [{ amount: '0.01' }, { status: 'failed', amount: '0.01' }],
    [{ reference: 'TXN-999999' }, { status: 'failed', reference: 'TXN-999999' }],
  ])('with %j sends that first, and then the real webhook', async (fields, data) => {
    const { mock, received, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'forged', ...fields });
    const reference = await createPayment();
    mock.decline(reference);
    await settle();
    expect(received).toMatchObject([
      { event: `transaction.${data.status}`, data },
      { event: 'transaction.failed', data: { reference, status: 'failed', amount: '25.50', paid_at: null } },
    ]);
    expect(mock.webhooks.deliveries).toMatchObject([
      { reference, fault: 'forged', state: 'delivered' },
      { reference, fault: null, state: 'delivered' },
    ]);
    const events = received.map(({ headers }) => headers['x-sandbox-event']);
    expect(new Set(events).size).toBe(2);
  });

  test('is answered before the real webhook is sent', async () => {
    const { mock, list, createPayment } = startReceiver(
      () => new Promise((resolve) => setTimeout(resolve, 100)),
    );
    mock.webhooks.fault({ kind: 'forged' });
    mock.decline(await createPayment());
    await vi.advanceTimersByTimeAsync(99);
    expect(list()).toEqual(['success TXN-000001']);
    await vi.advanceTimersByTimeAsync(1);
    expect(list()).toEqual(['success TXN-000001', 'failed TXN-000001']);
  });
});

describe('early', () => {
  test.each([
    [{ kind: 'early' }, 3_000],
    [{ kind: 'early', delay: 20_000 }, 20_000],
  ] as const)('%j delivers before verify reports it', async (fault, delay) => {
    const seen: string[] = [];
    const { mock, payments, createPayment } = startReceiver(async ({ data: { reference } }) => {
      seen.push((await payments.verify(reference)).status);
    });
    mock.webhooks.fault(fault);
    const reference = await createPayment();
    mock.approve(reference);
    await mock.webhooks.flush();
    expect(seen).toEqual(['pending']);
    expect(mock.webhooks.deliveries).toMatchObject([
      { fault: 'early', state: 'delivered', body: { event: 'transaction.success' } },
    ]);
    await vi.advanceTimersByTimeAsync(delay - 1);
    expect((await payments.verify(reference)).status).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);
    expect(await payments.verify(reference)).toMatchObject({
      status: 'success',
      paid_at: '2026-11-21T10:15:00+00:00',
    });
  });

  test('ends at the next change of the transaction', async () => {
    const { mock, payments, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'early', delay: 60_000 });
    const reference = await createPayment();
    mock.abandon(reference);
    expect((await payments.verify(reference)).status).toBe('pending');
    mock.approve(reference);
    expect((await payments.verify(reference)).status).toBe('success');
    expect(mock.transactions).toMatchObject([{ reference, status: 'success' }]);
  });

  test('hides a status that a plan brings', async () => {
    const { mock, list, payments, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'early' });
    mock.settleAfter('next', 5_000, 'failed');
    const reference = await createPayment();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(list()).toEqual([`failed ${reference}`]);
    expect((await payments.verify(reference)).status).toBe('pending');
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await payments.verify(reference)).status).toBe('failed');
  });
});

describe('fault', () => {
  test('applies to one webhook each, in order', async () => {
    const { mock, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'lost' }, { times: 2 });
    mock.webhooks.fault({ kind: 'twice' });
    for (let count = 0; count < 4; count++) mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(mock.webhooks.deliveries.map(({ fault }) => fault)).toEqual([
      'lost',
      'lost',
      'twice',
      'twice',
      null,
    ]);
    expect(listStates(mock)).toEqual(['lost', 'lost', 'delivered', 'delivered', 'delivered']);
  });

  test('is not used up without a receiver', async () => {
    const { mock, createPayment } = startReceiver();
    mock.webhooks.deliverTo(null);
    mock.webhooks.fault({ kind: 'lost' });
    mock.approve(await createPayment());
    mock.webhooks.deliverTo(() => {});
    mock.approve(await createPayment());
    expect(listStates(mock)).toEqual(['lost']);
  });

  test('is not changed by a later change of its object', async () => {
    const { mock, createPayment } = startReceiver();
    const fault = { kind: 'late' as const, delay: 5_000 };
    mock.webhooks.fault(fault);
    fault.delay = 1;
    mock.approve(await createPayment());
    expect(mock.webhooks.deliveries).toMatchObject([{ dueAt: Date.now() + 5_000 }]);
  });

  test.each([
    [{ kind: 'slow' }, TypeError, 'Unknown webhook fault slow. Known: late, twice, lost, forged, early.'],
    [{ kind: 'toString' }, TypeError, 'Unknown webhook fault toString.'],
    [{ kind: '024 412 3456' }, TypeError, 'Unknown webhook fault. Known:'],
    [{}, TypeError, 'Unknown webhook fault. Known:'],
    [null, TypeError, 'Unknown webhook fault. Known:'],
    [{ kind: 'late', delay: -1 }, RangeError, 'delay must be milliseconds from 0 to 1000000000000, not -1.'],
    [{ kind: 'late', delay: '5s' }, RangeError, 'not string.'],
    [{ kind: 'early', delay: Number.NaN }, RangeError, 'not NaN.'],
    [{ kind: 'early', delay: null }, RangeError, 'not object.'],
    [{ kind: 'forged', amount: 25.5 }, TypeError, 'amount must be a string, not number.'],
    [{ kind: 'forged', status: 'x'.repeat(256) }, RangeError, 'status must have at most 255 characters.'],
  ])('throws for %j', (fault, type, message) => {
    const { webhooks } = createMockPayments();
    const order = () => Reflect.apply(webhooks.fault, webhooks, [fault]);
    expect(order).toThrow(type);
    expect(order).toThrow(message);
  });

  test.each([0, -1, 1.5, Number.NaN])('throws for %d times', (times) => {
    const { webhooks } = createMockPayments();
    expect(() => webhooks.fault({ kind: 'lost' }, { times })).toThrow(RangeError);
  });
});
