import { beforeEach, describe, expect, test, vi } from 'vitest';
import { charge, settle, startReceiver, useFakeClock } from './start-mock.ts';

beforeEach(() => useFakeClock('2026-11-21T10:15:00Z'));

const sleep = (delay: number) => new Promise((resolve) => setTimeout(resolve, delay));
const respondWith = (status: number) => () => new Response(null, { status });
describe('a receiver that does not accept', () => {
  test.each<[string, () => unknown, result: object]>([
    ['responds 500', () => new Response('broken', { status: 500 }), { status: 500, body: 'broken' }],
    ['responds 302', () => Response.redirect('https://shop.test/'), { status: 302, body: '' }],
    ['responds 404', respondWith(404), { status: 404, body: '' }],
    [
      'throws',
      () => {
        throw new RangeError('no such order');
      },
      { error: 'RangeError: no such order' },
    ],
    ['rejects with a text', () => Promise.reject('no order'), { error: 'Error: no order' }],
    ['returns an error response', () => Response.error(), { error: 'Error: The response is an error.' }],
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
    const attempts = [0, 1_000, 6_000, 31_000, 156_000].map((at) => ({
      at: startedAt + at,
      duration: 0,
      status: null,
      body: null,
      error: null,
      ...result,
    }));
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'failed', dueAt: null, attempts }]);
    // One delivery with one payload.
    expect(new Set(received.map((webhook) => JSON.stringify(webhook))).size).toBe(1);
  });
});

describe('the webhooks of one transaction', () => {
  test('are sent one after the other, also those that come meanwhile', async () => {
    const { mock, list, createPayment } = startReceiver(() => sleep(1_000));
    const reference = await createPayment();
    mock.abandon(reference);
    mock.decline(reference);
    await vi.advanceTimersByTimeAsync(1_500);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(499);
    expect(list()).toEqual([`abandoned ${reference}`, `failed ${reference}`]);
    await vi.advanceTimersByTimeAsync(1);
    expect(list().at(-1)).toBe(`success ${reference}`);
  });
});

describe('a receiver that does not respond', () => {
  test.each([
    [undefined, 5_000],
    [{ timeout: 100 }, 100],
  ])('with %j is given %d ms, and delays neither others nor the service', async (options, timeout) => {
    const respond = async ({ data }: { data: { reference: string } }) => {
      if (data.reference === 'TXN-000002') return;
      await sleep(6_000);
      return new Response('too late');
    };
    const { mock, received, listStates, payments, createPayment } = startReceiver(respond, options);
    for (const _ of [1, 2]) mock.approve(await createPayment());
    await settle();
    expect(mock.webhooks.deliveries).toMatchObject([
      { state: 'sending', dueAt: null, attempts: [{ duration: null, status: null, error: null }] },
      { state: 'delivered' },
    ]);
    expect((await payments.verify('TXN-000001')).status).toBe('success');
    await vi.advanceTimersByTimeAsync(timeout - 1);
    expect(listStates()).toEqual(['sending', 'delivered']);
    await vi.advanceTimersByTimeAsync(1);
    const error = `No response within ${timeout} ms.`;
    const attempt = { duration: timeout, status: null, body: null, error };
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'waiting', attempts: [attempt] }, {}]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(received).toHaveLength(3);
    // What comes too late changes nothing.
    await vi.advanceTimersByTimeAsync(200_000);
    expect(mock.webhooks.deliveries).toMatchObject([{ attempts: Array(5).fill(attempt) }, {}]);
  });
});

describe('a handler', () => {
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

describe('flush', () => {
  test('sends what is new, late or to be retried, in order', async () => {
    const failing = new Set(['TXN-000001']);
    const { mock, list, listStates, createPayment } = startReceiver(({ data: { reference } }) =>
      failing.delete(reference) ? new Response(null, { status: 500 }) : undefined,
    );
    mock.decline(await createPayment());
    await settle();
    mock.webhooks.fault({ kind: 'late' });
    mock.webhooks.fault({ kind: 'late', delay: 9_000 });
    for (const _ of [2, 3, 4]) mock.approve(await createPayment());
    const before = Date.now();
    await Promise.all([mock.webhooks.flush(), mock.webhooks.flush()]);
    expect(Date.now()).toBe(before);
    // What is due now, then by time.
    const rest = ['success TXN-000004', 'failed TXN-000001', 'success TXN-000003', 'success TXN-000002'];
    expect(list()).toEqual(['failed TXN-000001', ...rest]);
    expect(new Set(listStates())).toEqual(new Set(['delivered']));
  });

  test('makes all retries at once, and resolves if nothing waits', async () => {
    const { mock, received, listStates, createPayment } = startReceiver(respondWith(500));
    await mock.webhooks.flush();
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    await mock.webhooks.flush();
    expect([received.length, listStates()]).toEqual([5, ['failed']]);
    // Also of what was created in the same turn.
    const reference = await createPayment();
    mock.webhooks.fault({ kind: 'late' });
    mock.approve(reference);
    void mock.webhooks.flush();
    for (let turn = 0; turn < 1_000 && received.length < 10; turn++) await settle();
    expect(received).toHaveLength(10);
  });
});
