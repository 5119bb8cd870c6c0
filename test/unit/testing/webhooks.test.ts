import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { createMockPayments } from '../../../src/testing/index.ts';
import { version } from '../../../src/version.ts';
import { listStates, settle, startReceiver } from './receive-webhooks.ts';
import { charge, payment, startMock, useFakeClock } from './start-mock.ts';

describe('a webhook', () => {
  test.each([
    ['approve', 'success', '2026-11-21T10:15:00+00:00'],
    ['decline', 'failed', null],
    ['abandon', 'abandoned', null],
  ] as const)('is sent when a test calls %s', async (control, status, paid_at) => {
    useFakeClock('2026-11-21T10:15:00Z');
    const { mock, received, createPayment } = startReceiver();
    const reference = await createPayment(charge);
    mock[control](reference);
    await mock.webhooks.flush();
    const { amount, customer_email } = payment;
    const data = { reference, status, amount, currency: 'GHS', customer_email, paid_at };
    expect(received).toEqual([{ event: `transaction.${status}`, data, headers: expect.anything() }]);
    expect(mock.webhooks.deliveries).toMatchObject([
      { reference, body: { event: `transaction.${status}`, data }, url: 'handler', fault: null },
    ]);
  });

  test('names its sender and its ids, and has no signature', async () => {
    const { mock, received, createPayment } = startReceiver();
    for (const _ of [1, 2]) mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(received.map(({ headers }) => headers)).toEqual(
      [1, 2].map((number) => ({
        'content-type': 'application/json',
        'user-agent': `payment-collection-client-mock/${version}`,
        'x-sandbox-delivery': `whd_${number}`,
        'x-sandbox-event': `whe_${number}`,
      })),
    );
    expect(mock.webhooks.deliveries.map(({ headers }) => headers)).toEqual(
      received.map(({ headers }) => headers),
    );
  });

  test('is sent once for each change, also from final to final', async () => {
    const { mock, list, createPayment } = startReceiver();
    const reference = await createPayment();
    mock.abandon(reference);
    mock.abandon(reference);
    mock.approve(reference);
    mock.approve(reference);
    await mock.webhooks.flush();
    expect(list()).toEqual([`abandoned ${reference}`, `success ${reference}`]);
  });

  test('is sent when a script reaches a final status', async () => {
    const { mock, list, payments, createPayment } = startReceiver();
    mock.script('next', ['pending', 'processing', 'success', 'success']);
    const reference = await createPayment();
    for (let count = 0; count < 4; count++) await payments.verify(reference);
    await mock.webhooks.flush();
    expect(list()).toEqual([`success ${reference}`]);
  });

  test('is sent at the time of settleAfter, without a verify', async () => {
    useFakeClock();
    const { mock, list, createPayment } = startReceiver();
    mock.settleAfter('next', 20_000, 'success');
    const reference = await createPayment();
    await vi.advanceTimersByTimeAsync(19_999);
    expect(list()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(list()).toEqual([`success ${reference}`]);
  });

  test('is sent for a plan that was made before there was a receiver', async () => {
    useFakeClock();
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.settleAfter(reference, 20_000, 'failed');
    mock.webhooks.deliverTo(() => {});
    await vi.advanceTimersByTimeAsync(20_000);
    expect(mock.webhooks.deliveries).toMatchObject([{ reference, state: 'delivered' }]);
  });

  test('is sent in a later turn than the change', async () => {
    const { mock, received, createPayment } = startReceiver();
    const reference = await createPayment();
    expect(mock.approve(reference).status).toBe('success');
    expect(listStates(mock)).toEqual(['waiting']);
    await turn();
    expect(received).toHaveLength(1);
    expect(listStates(mock)).toEqual(['delivered']);
  });

  test('contains neither the phone nor a key', async () => {
    const { mock, received, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'forged' });
    mock.approve(await createPayment(charge));
    await mock.webhooks.flush();
    expect(received).toHaveLength(2);
    const text = JSON.stringify([received, mock.webhooks.deliveries]);
    for (const secret of [charge.phone, mock.apiKey, mock.testKey]) expect(text).not.toContain(secret);
  });
});

describe('the mock', () => {
  test('sends nothing and has no timer without a receiver', async () => {
    useFakeClock();
    const { mock, payments } = startMock();
    mock.webhooks.deliverTo(() => {});
    mock.settleAfter('next', 20_000, 'success');
    const { reference } = await payments.initialize(payment);
    const timers = vi.getTimerCount();
    mock.webhooks.deliverTo(null);
    expect(vi.getTimerCount()).toBe(timers - 1);
    mock.settleAfter('next', 20_000, 'success');
    await payments.initialize(payment);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(mock.transactions).toMatchObject([{ reference, status: 'success' }, { status: 'success' }]);
    expect(mock.webhooks.deliveries).toEqual([]);
  });

  test('gives up what waits when the receiver is removed', async () => {
    useFakeClock();
    const { mock, list, createPayment } = startReceiver(() => new Response(null, { status: 500 }));
    mock.approve(await createPayment());
    await settle();
    mock.webhooks.fault({ kind: 'late' });
    mock.approve(await createPayment());
    expect(listStates(mock)).toEqual(['waiting', 'waiting']);
    mock.webhooks.deliverTo(null);
    expect(listStates(mock)).toEqual(['failed', 'failed']);
    await vi.advanceTimersByTimeAsync(200_000);
    expect(list()).toHaveLength(1);
  });

  test('counts a request in flight when the receiver is removed', async () => {
    useFakeClock();
    const statuses = [204, 500];
    const { mock, createPayment } = startReceiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return new Response(null, { status: statuses.shift() ?? 500 });
    });
    for (const _ of [1, 2]) mock.approve(await createPayment());
    await settle();
    mock.webhooks.deliverTo(null);
    expect(listStates(mock)).toEqual(['sending', 'sending']);
    await vi.advanceTimersByTimeAsync(200_000);
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status: 204 }] },
      { state: 'failed', attempts: [{ status: 500 }] },
    ]);
  });

  test('sends later webhooks to the latest receiver', async () => {
    const { mock, list, createPayment } = startReceiver();
    mock.approve(await createPayment());
    const others: Request[] = [];
    mock.webhooks.deliverTo((request) => others.push(request));
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(list()).toEqual(['success TXN-000001']);
    expect(others).toHaveLength(1);
  });

  test('keeps the receiver over a reset, and forgets the rest', async () => {
    useFakeClock();
    const { mock, list, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'late' });
    mock.webhooks.fault({ kind: 'lost' });
    mock.approve(await createPayment());
    mock.reset();
    expect(mock.webhooks.deliveries).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(list()).toEqual([]);
    mock.decline(await createPayment());
    await settle();
    expect(list()).toEqual(['failed TXN-000002']);
    expect(mock.webhooks.deliveries).toMatchObject([
      { id: 'whd_1', headers: { 'x-sandbox-event': 'whe_1' }, fault: null },
    ]);
  });

  test('does not record a request that was in flight during a reset', async () => {
    useFakeClock();
    const { mock, received, createPayment } = startReceiver(
      () => new Promise((resolve) => setTimeout(resolve, 1_000)),
    );
    mock.approve(await createPayment());
    await settle();
    const [delivery] = mock.webhooks.deliveries;
    const flushed = mock.webhooks.flush();
    mock.reset();
    await flushed;
    await vi.advanceTimersByTimeAsync(200_000);
    expect(received).toHaveLength(1);
    expect(mock.webhooks.deliveries).toEqual([]);
    expect(delivery?.attempts).toMatchObject([{ duration: null, status: null, error: null }]);
  });

  test('keeps the latest 1000 deliveries or more, at most 2000', async () => {
    const { mock, createPayment } = startReceiver();
    const reference = await createPayment();
    mock.webhooks.fault({ kind: 'lost' }, { times: Number.POSITIVE_INFINITY });
    let fewest = Number.POSITIVE_INFINITY;
    for (let count = 0; count < 3_000; count++) {
      mock[count % 2 === 0 ? 'approve' : 'decline'](reference);
      expect(mock.webhooks.deliveries.length).toBeLessThanOrEqual(2_000);
      if (count >= 1_000) fewest = Math.min(fewest, mock.webhooks.deliveries.length);
    }
    expect(fewest).toBeGreaterThanOrEqual(1_000);
    const ids = mock.webhooks.deliveries.map(({ id }) => Number(id.slice(4)));
    expect(ids).toEqual(ids.map((_, at) => 3_000 - ids.length + 1 + at));
  });
});

test('keeps what waits, however many come after it', async () => {
  useFakeClock();
  const { mock, list, createPayment } = startReceiver();
  const reference = await createPayment();
  mock.webhooks.fault({ kind: 'late' });
  mock.approve(reference);
  const [waiting] = mock.webhooks.deliveries;
  mock.webhooks.fault({ kind: 'lost' }, { times: Number.POSITIVE_INFINITY });
  for (let count = 0; count < 1_500; count++) {
    mock.decline(reference);
    mock.approve(reference);
  }
  expect(mock.webhooks.deliveries[0]).toBe(waiting);
  await mock.webhooks.flush();
  expect(list()).toEqual([`success ${reference}`]);
});

test('close ends the webhooks of the mock', async () => {
  useFakeClock();
  const { mock, received, createPayment } = startReceiver(() => new Promise(() => {}));
  const reference = await createPayment();
  mock.approve(reference);
  await settle();
  mock.webhooks.fault({ kind: 'late' });
  mock.decline(reference);
  mock.settleAfter(reference, 1_000, 'abandoned');
  const flushed = mock.webhooks.flush();
  mock.close();
  await flushed;
  expect(listStates(mock)).toEqual(['failed', 'failed']);
  expect(vi.getTimerCount()).toBe(0);
  mock.approve(reference);
  await vi.advanceTimersByTimeAsync(200_000);
  expect(received).toHaveLength(1);
  expect(mock.webhooks.deliveries).toHaveLength(2);
});

describe('send', () => {
  test('sends one more webhook with the present status', async () => {
    const { mock, list, createPayment } = startReceiver();
    const reference = await createPayment();
    expect(mock.webhooks.send(reference)).toMatchObject({ state: 'waiting', fault: null });
    mock.approve(reference);
    mock.webhooks.send(reference);
    await mock.webhooks.flush();
    expect(list()).toEqual([`pending ${reference}`, `success ${reference}`, `success ${reference}`]);
  });

  test('sends forged fields, also about a pending payment', async () => {
    const { mock, received, createPayment } = startReceiver();
    const reference = await createPayment();
    const forged = { reference: 'TXN-OTHER', amount: '9999.00', status: 'success' };
    const delivery = mock.webhooks.send(reference, forged);
    await mock.webhooks.flush();
    expect(delivery).toMatchObject({ reference, fault: 'forged', state: 'delivered' });
    expect(received).toMatchObject([
      { event: 'transaction.success', data: { ...forged, paid_at: expect.any(String) } },
    ]);
    expect(mock.transactions).toMatchObject([{ reference, status: 'pending' }]);
  });

  test('uses up no fault', async () => {
    const { mock, list, createPayment } = startReceiver();
    const reference = await createPayment();
    mock.webhooks.fault({ kind: 'lost' });
    mock.webhooks.send(reference);
    mock.approve(reference);
    await mock.webhooks.flush();
    expect(list()).toEqual([`pending ${reference}`]);
    expect(listStates(mock)).toEqual(['delivered', 'lost']);
  });

  test('throws for an unknown transaction, and names no key', () => {
    const { mock } = startReceiver();
    expect(() => mock.webhooks.send('TXN-9')).toThrow('There is no transaction TXN-9. No webhook was sent.');
    expect(() => mock.webhooks.send(mock.testKey)).toThrow('There is no transaction [REDACTED].');
  });

  test('throws without a receiver', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    expect(() => mock.webhooks.send(reference)).toThrow('Nothing was sent. Call deliverTo first.');
    expect(mock.webhooks.deliveries).toEqual([]);
  });
});

describe('deliverTo', () => {
  test.each(['', 'localhost:3000', 'ftp://user:secret@shop.test/', 17, {}, undefined])(
    'throws for the receiver %j, and does not show it',
    (receiver) => {
      const { webhooks } = createMockPayments();
      expect(() => Reflect.apply(webhooks.deliverTo, webhooks, [receiver])).toThrow(
        new TypeError('A receiver of webhooks must be an http or https address, a function, or null.'),
      );
    },
  );

  test.each([
    [{ timeout: 0 }, 'timeout must be milliseconds from 1 to 2147483647, not 0.'],
    [{ timeout: Number.NaN }, 'timeout must be milliseconds from 1 to 2147483647, not NaN.'],
    [{ timeout: 2 ** 31 }, 'timeout must be milliseconds from 1 to 2147483647, not 2147483648.'],
    [{ retryDelays: [1, -1] }, 'retryDelays.1 must be milliseconds from 0 to 1000000000000, not -1.'],
    [{ retryDelays: [undefined] }, 'retryDelays.0 must be milliseconds from 0 to 1000000000000, not'],
    [{ retryDelays: 5 }, 'retryDelays must be a list of milliseconds, not number.'],
    [{ retryDelays: Array(101).fill(1) }, 'retryDelays must have at most 100 items.'],
    [{ timeout: 1, retries: 3 }, 'Unknown option "retries".'],
    [null, 'The options of a receiver must be an object'],
  ])('throws for the options %o', (options, message) => {
    const { webhooks } = createMockPayments();
    const deliver = () => Reflect.apply(webhooks.deliverTo, webhooks, [() => {}, options]);
    expect(deliver).toThrow(ConfigurationError);
    expect(deliver).toThrow(message);
  });
});
