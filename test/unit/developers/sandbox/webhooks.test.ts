import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SandboxOptions } from '../../../../src/developers/sandbox/index.ts';
import { version } from '../../../../src/support/version.ts';
import { CLOSED_PORT } from '../../../helpers/raw-service.ts';
import { charge, createStatePath, payment, startTestSandbox } from './start-sandbox.ts';
import { accept, startShop } from './start-shop.ts';

/** Starts a shop that receives webhooks over HTTP, and a sandbox that sends them. */
async function startBoth(respond?: RequestListener, options?: SandboxOptions) {
  const shop = await startShop(respond);
  const started = await startTestSandbox({ webhookUrl: shop.url, ...options });
  const { sandbox, payments } = started;
  const createPayment = async () => (await payments.initialize(payment)).reference;
  /** Ends a payment, and sends its webhook with all retries. */
  const pay = async () => {
    const reference = await createPayment();
    sandbox.approve(reference);
    await sandbox.webhooks.flush();
    return reference;
  };
  /** What arrived, as `<status> <reference>`. */
  const list = () => shop.read().map(({ data }) => `${data.status} ${data.reference}`);
  const states = () => sandbox.webhooks.deliveries.map(({ state }) => state);
  return { ...started, ...shop, list, states, createPayment, pay };
}

test('posts a webhook to the address of the options, with its user and password', async () => {
  const { sandbox, received, host, pay } = await startBoth();
  sandbox.webhooks.deliverTo(`http://shop:p%C3%A4ss%20word@${host}/in?token=t#hash`);
  const reference = await pay();
  const headers = {
    'content-type': 'application/json',
    'user-agent': `payment-collection-client-sandbox/${version}`,
    'x-sandbox-delivery': 'whd_1',
    'x-sandbox-event': 'whe_1',
  };
  const authorization = `Basic ${Buffer.from('shop:päss word').toString('base64')}`;
  expect(received).toMatchObject([
    { method: 'POST', url: '/in?token=t', headers: { host, authorization, ...headers } },
  ]);
  const { amount, customer_email } = payment;
  const data = { reference, status: 'success', amount, currency: 'GHS', customer_email };
  const body = { event: 'transaction.success', data: { ...data, paid_at: expect.any(String) } };
  expect(JSON.parse(received[0]?.body ?? '')).toEqual(body);
  const attempts = [{ status: 204, body: '', error: null, duration: expect.any(Number) }];
  const [delivery] = sandbox.webhooks.deliveries;
  expect(delivery).toMatchObject({ url: `http://${host}/in?token=t`, state: 'delivered', attempts });
  expect(delivery?.headers).toEqual(headers);
});

describe('posts a webhook', () => {
  test('of what became final while it did not run, and no other again', async () => {
    const state = createStatePath();
    const first = await startBoth(accept, { state });
    const { reference } = await first.payments.chargeMobileMoney(charge);
    const paid = await first.pay();
    await first.sandbox.close();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const second = await startBoth(accept, { state });
    await second.sandbox.webhooks.flush();
    expect(second.list()).toEqual([`failed ${reference}`]);
    expect(second.sandbox.transactions[1]).toMatchObject({ reference: paid, status: 'success' });
  });
});

describe('a receiver', () => {
  const token = `http://user:hush@127.0.0.1:${CLOSED_PORT}/in?token=hush`;

  test.each<[string, RequestListener, attempt: object, webhookUrl?: string]>([
    [
      'resets the connection',
      (request) => request.socket.resetAndDestroy(),
      {
        status: null,
        error: expect.stringMatching(/^The connection failed: (?:ECONNRESET|UND_ERR_SOCKET)\.$/),
      },
    ],
    [
      'redirects',
      ({ headers }, response) => response.writeHead(307, { location: `http://${headers.host}/other` }).end(),
      { status: 307 },
    ],
    ['does not run', accept, { status: null, error: 'The connection failed: ECONNREFUSED.' }, token],
  ])('that %s is retried at its own address, which no error has', async (_, respond, attempt, webhookUrl) => {
    const { sandbox, pay, received } = await startBoth(respond, webhookUrl ? { webhookUrl } : {});
    await pay();
    const attempts = new Array(5).fill(attempt);
    expect(sandbox.webhooks.deliveries).toMatchObject([{ state: 'failed', attempts }]);
    expect(new Set(received.map(({ url }) => url))).toEqual(new Set(webhookUrl ? [] : ['/webhooks']));
  });

  test('that hangs is disconnected after the timeout, or at close', async () => {
    let disconnects = 0;
    const { sandbox, host, received, states, pay, createPayment } = await startBoth((request) => {
      request.socket.once('close', () => disconnects++);
    });
    sandbox.webhooks.deliverTo(`http://${host}/`, { timeout: 1_000, retryDelays: [] });
    await pay();
    const attempt = { status: null, body: null, error: 'No response within 1000 ms.' };
    expect(sandbox.webhooks.deliveries).toMatchObject([{ state: 'failed', attempts: [attempt] }]);
    await vi.waitFor(() => expect(disconnects).toBe(1));
    sandbox.webhooks.deliverTo(`http://${host}/`);
    sandbox.approve(await createPayment());
    await vi.waitFor(() => expect(received).toHaveLength(2));
    const flushed = sandbox.webhooks.flush();
    sandbox.webhooks.fault({ kind: 'late', delay: 600_000 });
    sandbox.approve(await createPayment());
    await sandbox.close();
    await flushed;
    expect(states()).toEqual(['failed', 'failed', 'failed']);
    await vi.waitFor(() => expect(disconnects).toBe(2));
    sandbox.advance(600_000);
    await sandbox.webhooks.flush();
    expect(received).toHaveLength(2);
  });
});
