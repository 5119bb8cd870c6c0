import { describe, expect, test } from 'vitest';
import { listStates, parseWebhook, settle, startReceiver } from './receive-webhooks.ts';
import { useFakeClock } from './start-mock.ts';

describe('flush', () => {
  test('resolves if nothing waits', async () => {
    const { mock } = startReceiver();
    await mock.webhooks.flush();
    mock.webhooks.deliverTo(null);
    await mock.webhooks.flush();
  });

  test('sends what is new, late or to be retried, in order', async () => {
    useFakeClock();
    const failing = new Set(['failed TXN-000001']);
    const { mock, list, createPayment } = startReceiver(({ data: { status, reference } }) =>
      failing.delete(`${status} ${reference}`) ? new Response(null, { status: 500 }) : undefined,
    );
    mock.decline(await createPayment());
    await settle();
    mock.webhooks.fault({ kind: 'late' });
    mock.webhooks.fault({ kind: 'late', delay: 9_000 });
    for (const _ of [2, 3, 4]) mock.approve(await createPayment());
    const before = Date.now();
    await mock.webhooks.flush();
    expect(Date.now()).toBe(before);
    expect(list()).toEqual([
      'failed TXN-000001',
      // What is due now, then by time.
      'success TXN-000004',
      'failed TXN-000001',
      'success TXN-000003',
      'success TXN-000002',
    ]);
    expect(new Set(listStates(mock))).toEqual(new Set(['delivered']));
  });

  test('makes all retries at once, until the last one fails', async () => {
    useFakeClock();
    const { mock, received, createPayment } = startReceiver(() => new Response(null, { status: 500 }));
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(received).toHaveLength(5);
    expect(listStates(mock)).toEqual(['failed']);
  });

  test('waits for a request in flight', async () => {
    useFakeClock();
    const response = Promise.withResolvers<void>();
    const { mock, createPayment } = startReceiver(() => response.promise);
    mock.approve(await createPayment());
    await settle();
    expect(listStates(mock)).toEqual(['sending']);
    const flushed = mock.webhooks.flush();
    await settle();
    expect(listStates(mock)).toEqual(['sending']);
    response.resolve();
    await flushed;
    expect(listStates(mock)).toEqual(['delivered']);
  });

  test('ends if the receiver never responds', async () => {
    const { mock, received, createPayment } = startReceiver(() => new Promise(() => {}), { timeout: 20 });
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(received).toHaveLength(5);
  });

  test('ends when webhooks are stopped', async () => {
    const { mock, createPayment } = startReceiver(() => new Response(null, { status: 500 }));
    mock.webhooks.fault({ kind: 'late' }, { times: 2 });
    for (const _ of [1, 2]) mock.approve(await createPayment());
    const flushed = mock.webhooks.flush();
    mock.webhooks.deliverTo(null);
    await flushed;
    expect(listStates(mock)).toEqual(['failed', 'failed']);
  });

  test('can be called several times at once', async () => {
    const { mock, list, createPayment } = startReceiver();
    for (const _ of [1, 2, 3]) mock.approve(await createPayment());
    await Promise.all([1, 2, 3].map(() => mock.webhooks.flush()));
    expect(list()).toHaveLength(3);
  });

  test('does not wait for webhooks that come later', async () => {
    const { mock, list, createPayment } = startReceiver();
    const reference = await createPayment();
    let count = 0;
    // A shop that starts another change at each webhook, without an end.
    const { webhooks } = mock;
    webhooks.deliverTo(async (request) => {
      await parseWebhook(request);
      if (++count < 500) mock[count % 2 === 0 ? 'approve' : 'decline'](reference);
    });
    mock.approve(reference);
    await webhooks.flush();
    expect(count).toBeLessThan(10);
    expect(list()).toEqual([]);
    webhooks.deliverTo(null);
  });
});
