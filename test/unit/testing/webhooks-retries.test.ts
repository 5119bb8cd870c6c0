import { beforeEach, describe, expect, test, vi } from 'vitest';
import { listStates, settle, startReceiver } from './receive-webhooks.ts';
import { charge, useFakeClock } from './start-mock.ts';

beforeEach(() => useFakeClock('2026-11-21T10:15:00Z'));

const sleep = (delay: number) => new Promise((resolve) => setTimeout(resolve, delay));

describe('a receiver that does not accept', () => {
  test.each([
    [
      'responds 500',
      () => new Response('broken', { status: 500 }),
      { status: 500, body: 'broken', error: null },
    ],
    ['responds 302', () => Response.redirect('https://shop.test/'), { status: 302, body: '', error: null }],
    ['responds 404', () => new Response(null, { status: 404 }), { status: 404, body: '', error: null }],
    [
      'throws',
      () => {
        throw new RangeError('no such order');
      },
      { status: null, body: null, error: 'RangeError: no such order' },
    ],
    [
      'rejects with a text',
      () => Promise.reject('no order'),
      { status: null, body: null, error: 'Error: no order' },
    ],
    [
      'returns an error response',
      () => Response.error(),
      { status: null, body: null, error: 'Error: The response is an error.' },
    ],
  ])('is retried four times if it %s', async (_, respond, result) => {
    const { mock, received, createPayment } = startReceiver(respond);
    const startedAt = Date.now();
    mock.approve(await createPayment());
    await vi.advanceTimersByTimeAsync(1_000 + 5_000 + 25_000);
    const dueAt = startedAt + 156_000;
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'waiting', dueAt, attempts: { length: 4 } }]);
    await vi.advanceTimersByTimeAsync(125_000 - 1);
    expect(received).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'failed', dueAt: null }]);
    const attempt = (at: number) => ({ at: startedAt + at, duration: 0, ...result });
    expect(mock.webhooks.deliveries[0]?.attempts).toEqual([0, 1_000, 6_000, 31_000, 156_000].map(attempt));
    // One delivery with one payload.
    expect(new Set(received.map((webhook) => JSON.stringify(webhook))).size).toBe(1);
  });

  test('is retried until it accepts', async () => {
    const statuses = [500, 503];
    const { mock, received, createPayment } = startReceiver(
      () => new Response('ok', { status: statuses.shift() ?? 200 }),
    );
    mock.approve(await createPayment());
    await vi.advanceTimersByTimeAsync(200_000);
    expect(received).toHaveLength(3);
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status: 500 }, { status: 503 }, { status: 200, body: 'ok' }] },
    ]);
  });

  test('is retried after the delays of the options', async () => {
    const { mock, received, createPayment } = startReceiver(() => new Response(null, { status: 500 }), {
      retryDelays: [10, 20],
    });
    mock.approve(await createPayment());
    await vi.advanceTimersByTimeAsync(10);
    expect(received).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(20);
    expect(received).toHaveLength(3);
    expect(listStates(mock)).toEqual(['failed']);
  });

  test('is not retried without delays', async () => {
    const { mock, createPayment } = startReceiver(() => new Response(null, { status: 500 }), {
      retryDelays: [],
    });
    mock.approve(await createPayment());
    await settle();
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'failed', attempts: { length: 1 } }]);
  });

  test('lets the webhooks of a transaction overtake a retry only', async () => {
    const statuses = [500];
    const { mock, list, createPayment } = startReceiver(async () => {
      await sleep(2_000);
      return new Response(null, { status: statuses.shift() ?? 200 });
    });
    const reference = await createPayment();
    mock.abandon(reference);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(list()).toEqual([`abandoned ${reference}`]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(list()).toEqual([`abandoned ${reference}`, `success ${reference}`, `abandoned ${reference}`]);
  });
});

describe('the webhooks of one transaction', () => {
  test('wait for one that was sent by hand', async () => {
    const { mock, list, createPayment } = startReceiver(() => sleep(1_000));
    const reference = await createPayment();
    mock.webhooks.send(reference);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(999);
    expect(list()).toEqual([`pending ${reference}`]);
    await vi.advanceTimersByTimeAsync(1);
    expect(list()).toEqual([`pending ${reference}`, `success ${reference}`]);
  });

  test('wait for one in flight, also if one between them was given up', async () => {
    const { mock, createPayment } = startReceiver(() => sleep(1_000));
    const reference = await createPayment();
    mock.abandon(reference);
    await settle();
    mock.decline(reference);
    mock.webhooks.deliverTo(null);
    const received: Request[] = [];
    mock.webhooks.deliverTo((request) => received.push(request));
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(999);
    expect(received).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(received).toHaveLength(1);
    expect(listStates(mock)).toEqual(['delivered', 'failed', 'delivered']);
  });
});

describe('a receiver that does not respond', () => {
  test.each([
    [undefined, 5_000],
    [{ timeout: 100 }, 100],
  ])('with %j is given %d ms', async (options, timeout) => {
    const { mock, received, createPayment } = startReceiver(() => new Promise(() => {}), options);
    mock.approve(await createPayment());
    await settle();
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'sending', dueAt: null, attempts: [{ duration: null, status: null, error: null }] },
    ]);
    await vi.advanceTimersByTimeAsync(timeout - 1);
    expect(listStates(mock)).toEqual(['sending']);
    await vi.advanceTimersByTimeAsync(1);
    const error = `No response within ${timeout} ms.`;
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'waiting', attempts: [{ duration: timeout, status: null, body: null, error }] },
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(received).toHaveLength(2);
  });

  test('does not change an attempt once its time has passed', async () => {
    const { mock, createPayment } = startReceiver(async () => {
      await sleep(6_000);
      return new Response('too late');
    });
    mock.approve(await createPayment());
    await vi.advanceTimersByTimeAsync(200_000);
    expect(listStates(mock)).toEqual(['failed']);
    for (const attempt of mock.webhooks.deliveries[0]?.attempts ?? [])
      expect(attempt).toMatchObject({ status: null, body: null });
  });

  test('delays neither the others nor the service', async () => {
    const { mock, list, payments, createPayment } = startReceiver(({ data: { reference } }) =>
      reference === 'TXN-000001' ? new Promise(() => {}) : undefined,
    );
    for (const _ of [1, 2]) mock.approve(await createPayment());
    await settle();
    expect(list()).toEqual(['success TXN-000001', 'success TXN-000002']);
    expect(listStates(mock)).toEqual(['sending', 'delivered']);
    expect((await payments.verify('TXN-000001')).status).toBe('success');
  });
});

describe('a handler', () => {
  test.each([
    ['nothing', undefined],
    ['a text', 'ok'],
    ['a transaction', { status: 'failed', reference: 'TXN-1' }],
  ])('accepts by returning %s', async (_, result) => {
    const { mock, createPayment } = startReceiver(() => result);
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status: null, body: null, error: null }] },
    ]);
  });

  test.each([
    ['of 6 characters', '✓ paid'],
    ['of 5000 characters', '✓'.repeat(5_000)],
  ])('returns a body %s, of which the start is recorded', async (_, body) => {
    const { mock, createPayment } = startReceiver(() => new Response(body));
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(mock.webhooks.deliveries[0]?.attempts[0]?.body === body.slice(0, 4_096)).toBe(true);
  });

  test.each([
    ['breaks', (controller: ReadableStreamDefaultController) => controller.error(new Error('reset'))],
    ['has no end', () => {}],
  ])('returns a body that %s, and its status counts', async (_, end) => {
    const body = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('half'));
          setTimeout(() => end(controller), 10);
        },
      });
    const { mock, createPayment } = startReceiver(() => new Response(body()));
    mock.approve(await createPayment());
    await vi.advanceTimersByTimeAsync(5_000);
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status: 200, body: '', error: null }] },
    ]);
  });

  test('returns a response whose body was read, and its status counts', async () => {
    const { mock, createPayment } = startReceiver(async () => {
      const response = new Response('no', { status: 418 });
      await response.text();
      return response;
    });
    mock.approve(await createPayment());
    await settle();
    expect(mock.webhooks.deliveries).toMatchObject([{ attempts: [{ status: 418, body: '', error: null }] }]);
  });

  test('throws an error that is recorded without a phone, an email or a key', async () => {
    const { mock, createPayment } = startReceiver(() => {
      const { phone, customer_email } = charge;
      throw new Error(`${phone} ${customer_email} ${mock.testKey} ${'x '.repeat(500)}`);
    });
    mock.approve(await createPayment(charge));
    await settle();
    const error = mock.webhooks.deliveries[0]?.attempts[0]?.error ?? '';
    expect(error).toMatch(/^Error: \[REDACTED\] \[REDACTED\] \[REDACTED\] x x/);
    expect(error.length).toBe(200);
  });
});
