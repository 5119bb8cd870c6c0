import { describe, expect, test } from 'vitest';
import { startTestApi } from './script-api-client.ts';
import { charge, payment } from './start-sandbox.ts';
import { respondWith, startShop } from './start-shop.ts';

/** Starts a sandbox, and a shop that receives its webhooks with these status codes: 204 after the last. */
async function startWithReceiver(statuses: number[] = [], text = '') {
  const { url, read } = await startShop(respondWith(statuses, text));
  const api = await startTestApi({ webhookUrl: url });
  const { reference } = await api.payments.chargeMobileMoney(charge);
  const move = (status: string) => api.post(`/transactions/${reference}`, { status });
  const flush = async () => (await api.post('/webhooks/flush', {})).body.webhooks;
  return { ...api, read, url, reference, move, flush };
}

test('delivers a webhook about a transaction that a script moves', async () => {
  const { get, move, flush, read, url, reference } = await startWithReceiver();
  await move('success');
  const delivered = { reference, url, state: 'delivered', fault: null, dueAt: null };
  expect(await flush()).toMatchObject([{ ...delivered, attempts: [{ status: 204, error: null }] }]);
  expect(read()).toMatchObject([{ event: 'transaction.success', data: { reference, amount: '25.50' } }]);
  expect((await get('/webhooks')).body).toMatchObject({ receiver: url, webhooks: [delivered] });
  expect((await get(`/transactions/${reference}`)).body.webhooks).toMatchObject([delivered]);
  expect((await get('')).body.webhookUrl).toBe(url);
});

test('lists webhooks newest first, of one transaction, and as many as it may', async () => {
  const { get, post, payments, move, flush, reference } = await startWithReceiver();
  const other = await payments.initialize(payment);
  await move('failed');
  await post(`/transactions/${other.reference}`, { status: 'abandoned' });
  await flush();
  const read = async (query: string) =>
    (await get(`/webhooks${query}`)).body.webhooks.map((webhook: { reference: string }) => webhook.reference);
  expect(await read('')).toEqual([other.reference, reference]);
  expect(await read(`?reference=${reference}`)).toEqual([reference]);
  expect(await read('?limit=1')).toEqual([other.reference]);
});

test('sends one more webhook now, and a forged one', async () => {
  const { post, payments, flush, read, reference } = await startWithReceiver();
  expect((await post('/webhooks', { reference })).status).toBe(201);
  const forged = { reference: 'TXN-another', amount: '1.00', status: 'success' };
  expect((await post('/webhooks', { reference, forged })).body).toMatchObject({ reference, fault: 'forged' });
  await flush();
  expect(read()).toMatchObject([
    { data: { reference, status: 'pending', amount: '25.50' } },
    { data: forged },
  ]);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

describe('sets the receiver', () => {
  test('with its retries', async () => {
    const { put, move, flush, read, url } = await startWithReceiver([500, 500, 500]);
    const set = await put('/webhooks/receiver', { url, retryDelays: [1000], timeout: 2000 });
    expect([set.status, set.body]).toEqual([200, { receiver: url }]);
    await move('success');
    expect(await flush()).toMatchObject([{ state: 'failed', attempts: [{ status: 500 }, { status: 500 }] }]);
    expect(read()).toHaveLength(2);
  });

  test('to none', async () => {
    const { put, get, move, read } = await startWithReceiver();
    expect((await put('/webhooks/receiver', { url: null })).body).toEqual({ receiver: null });
    await move('success');
    expect((await get('/webhooks')).body).toEqual({ receiver: null, webhooks: [] });
    expect(read()).toEqual([]);
  });
});

describe('orders a fault of the next webhooks', () => {
  const kinds = [
    { kind: 'late', delay: 60_000 },
    { kind: 'twice' },
    { kind: 'lost' },
    { kind: 'forged', reference: 'TXN-another', amount: '1.00', status: 'success' },
    { kind: 'early', delay: 60_000 },
  ];

  test('of every kind, with the fields of its type', async () => {
    const { get, post, remove } = await startTestApi();
    for (const fault of kinds) {
      const { status, body } = await post('/webhooks/faults', { fault, times: 2 });
      expect([status, body]).toEqual([201, { faults: [{ fault, remaining: 2 }] }]);
      expect((await get('/webhooks/faults')).body).toEqual(body);
      expect((await remove('/webhooks/faults')).status).toBe(204);
      expect((await get('/webhooks/faults')).body).toEqual({ faults: [] });
    }
  });
});

test('resets webhooks and their faults, and keeps the receiver', async () => {
  const { get, post, move, flush, url } = await startWithReceiver();
  await move('success');
  await flush();
  await post('/webhooks/faults', { fault: { kind: 'lost' } });
  await post('/reset', {});
  expect((await get('/webhooks')).body).toEqual({ receiver: url, webhooks: [] });
  expect((await get('/webhooks/faults')).body).toEqual({ faults: [] });
});

test('never shows an API key, of a receiver or in a forged field', async () => {
  const key = 'sk_live_4vK9qLm2Xw7RtZ';
  const { post, flush, reference } = await startWithReceiver([200], `key: ${key}`);
  const { body } = await post('/webhooks', { reference, forged: { status: key } });
  expect(body.body.data.status).toBe('[REDACTED]');
  const webhooks = await flush();
  expect(webhooks).toMatchObject([{ attempts: [{ body: 'key: [REDACTED]' }] }]);
  expect(JSON.stringify(webhooks)).not.toContain('4vK9');
});
