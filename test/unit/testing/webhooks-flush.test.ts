import { beforeEach, describe, expect, test } from 'vitest';
import { flushMicrotasks } from '../../helpers/fake-clock.ts';
import { listStates, parseWebhook, settle, startReceiver } from './receive-webhooks.ts';
import { payment, startMock, useFakeClock } from './start-mock.ts';

describe('flush', () => {
  test('resolves if nothing waits', async () => {
    const { mock } = startReceiver();
    await mock.webhooks.flush();
    mock.webhooks.deliverTo(null);
    await mock.webhooks.flush();
  });

  test('sends what is new, late, held or to be retried, in order', async () => {
    useFakeClock();
    const failing = new Set(['failed TXN-000001']);
    const { mock, list, createPayment } = startReceiver(({ data: { status, reference } }) =>
      failing.delete(`${status} ${reference}`) ? new Response(null, { status: 500 }) : undefined,
    );
    mock.decline(await createPayment());
    await settle();
    mock.webhooks.fault({ kind: 'outOfOrder' });
    mock.webhooks.fault({ kind: 'late' });
    mock.webhooks.fault({ kind: 'late', delay: 9_000 });
    for (const _ of [2, 3, 4, 5]) mock.approve(await createPayment());
    const before = Date.now();
    await mock.webhooks.flush();
    expect(Date.now()).toBe(before);
    expect(list()).toEqual([
      'failed TXN-000001',
      // What is due now, then by time, and the held one as soon as a later one was sent.
      'success TXN-000005',
      'failed TXN-000001',
      'success TXN-000004',
      'success TXN-000003',
      'success TXN-000002',
    ]);
    expect(new Set(listStates(mock))).toEqual(new Set(['delivered']));
  });

  test('sends a held webhook after the response to the next one', async () => {
    const { mock, createPayment } = startReceiver();
    const order: string[] = [];
    mock.webhooks.deliverTo(async (request) => {
      const { data } = await parseWebhook(request);
      order.push(`begin ${data.reference}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push(`end ${data.reference}`);
    });
    mock.webhooks.fault({ kind: 'outOfOrder' });
    for (const _ of [1, 2]) mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(order).toEqual(['begin TXN-000002', 'end TXN-000002', 'begin TXN-000001', 'end TXN-000001']);
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
    const { mock, createPayment } = startReceiver(() => new Promise((resolve) => setTimeout(resolve, 50)));
    mock.approve(await createPayment());
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(listStates(mock)).toEqual(['sending']);
    await mock.webhooks.flush();
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
    mock.webhooks.fault({ kind: 'outOfOrder' }, { times: 2 });
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

describe('a handler that calls flush', () => {
  // The time stands still, so that no timeout ends a handler that waits for itself.
  beforeEach(() => useFakeClock());

  test('gets what it caused, and does not wait for itself', async () => {
    const { mock, createPayment } = startReceiver();
    const first = await createPayment();
    const second = await createPayment();
    const order: string[] = [];
    mock.webhooks.deliverTo(async (request) => {
      const { data } = await parseWebhook(request);
      order.push(`begin ${data.reference}`);
      if (data.reference === first) {
        mock.approve(second);
        await mock.webhooks.flush();
      }
      order.push(`end ${data.reference}`);
    });
    mock.approve(first);
    await mock.webhooks.flush();
    expect(order).toEqual([`begin ${first}`, `begin ${second}`, `end ${second}`, `end ${first}`]);
    expect(listStates(mock)).toEqual(['delivered', 'delivered']);
  });

  test('gets the next webhook of the same transaction', async () => {
    const { mock, createPayment } = startReceiver();
    const reference = await createPayment();
    const order: string[] = [];
    mock.webhooks.deliverTo(async (request) => {
      const { data } = await parseWebhook(request);
      order.push(`begin ${data.status}`);
      if (data.status === 'abandoned') {
        mock.approve(reference);
        await mock.webhooks.flush();
      }
      order.push(`end ${data.status}`);
    });
    mock.abandon(reference);
    await mock.webhooks.flush();
    expect(order).toEqual(['begin abandoned', 'begin success', 'end success', 'end abandoned']);
  });

  test.each(['forged', 'twice', 'outOfOrder', 'late'] as const)('ends with the fault %s', async (kind) => {
    const { mock, createPayment } = startReceiver();
    mock.webhooks.deliverTo(() => mock.webhooks.flush());
    mock.webhooks.fault({ kind }, { times: 3 });
    for (const _ of [1, 2, 3, 4]) mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(new Set(listStates(mock))).toEqual(new Set(['delivered']));
  });

  test('ends for 40 of them, each of which causes the next', async () => {
    const { mock, payments } = startMock();
    const references: string[] = [];
    for (let count = 0; count < 40; count++) references.push((await payments.initialize(payment)).reference);
    const approveNext = () => {
      const reference = references.pop();
      if (reference !== undefined) mock.approve(reference);
    };
    mock.webhooks.deliverTo(async () => {
      approveNext();
      await mock.webhooks.flush();
    });
    approveNext();
    await mock.webhooks.flush();
    await settle();
    expect(listStates(mock)).toEqual(new Array(40).fill('delivered'));
  });

  test('ends for 30 at once', async () => {
    const { mock, createPayment } = startReceiver();
    mock.webhooks.deliverTo(async () => {
      await flushMicrotasks();
      await mock.webhooks.flush();
    });
    for (let count = 0; count < 30; count++) mock.approve(await createPayment());
    await mock.webhooks.flush();
    expect(listStates(mock)).toEqual(new Array(30).fill('delivered'));
  });
});
