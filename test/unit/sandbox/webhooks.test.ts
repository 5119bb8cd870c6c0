import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.ts';
import { version } from '../../../src/version.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { charge, createStatePath, payment, startTestSandbox } from './start-sandbox.ts';
import { accept, startShop } from './start-shop.ts';

/** Starts a shop that receives webhooks over HTTP, and a sandbox that sends them. */
async function startBoth(respond?: RequestListener, options?: SandboxOptions) {
  const shop = await startShop(respond);
  const started = await startTestSandbox({ webhookUrl: shop.url, ...options });
  const { sandbox, payments } = started;
  const createPayment = async () => (await payments.initialize(payment)).reference;
  /** What arrived, as `<status> <reference>`. */
  const list = () => shop.read().map(({ data }) => `${data.status} ${data.reference}`);
  const states = () => sandbox.webhooks.deliveries.map(({ state }) => state);
  return { ...started, ...shop, list, states, createPayment };
}

describe('the sandbox', () => {
  test('posts a webhook to the address of the options', async () => {
    const { sandbox, received, host, createPayment } = await startBoth();
    const reference = await createPayment();
    sandbox.approve(reference);
    await sandbox.webhooks.flush();
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/webhooks',
        headers: {
          host,
          'content-type': 'application/json',
          'user-agent': `payment-collection-client-sandbox/${version}`,
          'x-sandbox-delivery': 'whd_1',
          'x-sandbox-event': 'whe_1',
        },
      },
    ]);
    const { amount, customer_email } = payment;
    const data = { reference, status: 'success', amount, currency: 'GHS', customer_email };
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      event: 'transaction.success',
      data: { ...data, paid_at: expect.any(String) },
    });
    expect(sandbox.webhooks.deliveries).toMatchObject([
      {
        url: `http://${host}/webhooks`,
        state: 'delivered',
        attempts: [{ status: 204, body: '', error: null, duration: expect.any(Number) }],
      },
    ]);
  });

  test('posts a webhook when the phone or the checkout page ends a payment', async () => {
    const { sandbox, payments, press, list, createPayment } = await startBoth();
    const { reference } = await payments.chargeMobileMoney(charge);
    await press('/phone', { reference, decision: 'approve', pin: '1234' });
    const checkout = await createPayment();
    await press(`/checkout/${checkout}`, { outcome: 'abandon' });
    await sandbox.webhooks.flush();
    expect(list()).toEqual([`success ${reference}`, `abandoned ${checkout}`]);
  });

  test('posts a webhook when a prompt expires', async () => {
    const { sandbox, payments, list } = await startBoth();
    const { reference } = await payments.chargeMobileMoney(charge);
    sandbox.advance(150_000);
    await sandbox.webhooks.flush();
    expect(list()).toEqual([]);
    sandbox.advance(150_000);
    await sandbox.webhooks.flush();
    expect(list()).toEqual([`failed ${reference}`]);
  });

  test('posts what becomes due with advance, in the order of its time', async () => {
    const { sandbox, list, createPayment } = await startBoth();
    const references = [await createPayment(), await createPayment(), await createPayment()];
    const [first = '', second = '', third = ''] = references;
    sandbox.webhooks.fault({ kind: 'late', delay: 600_000 });
    sandbox.approve(first);
    sandbox.settleAfter(second, 900_000, 'failed');
    sandbox.settleAfter(third, 300_000, 'success');
    sandbox.advance(300_000);
    await vi.waitFor(() => expect(list()).toEqual([`success ${third}`]));
    sandbox.advance(300_000);
    await vi.waitFor(() => expect(list()).toHaveLength(2));
    sandbox.advance(300_000);
    await vi.waitFor(() => expect(list()).toHaveLength(3));
    expect(list()).toEqual([`success ${third}`, `success ${first}`, `failed ${second}`]);
  });

  test('does not post again what ended before a restart', async () => {
    const state = createStatePath();
    const first = await startBoth(accept, { state });
    const reference = await first.createPayment();
    first.sandbox.approve(reference);
    await first.sandbox.webhooks.flush();
    await first.sandbox.close();
    const second = await startBoth(accept, { state });
    await second.sandbox.webhooks.flush();
    expect(second.sandbox.transactions).toMatchObject([{ reference, status: 'success' }]);
    expect(second.received).toEqual([]);
  });

  test('posts what became final while it did not run', async () => {
    const state = createStatePath();
    const first = await startTestSandbox({ state });
    const { reference } = await first.payments.chargeMobileMoney(charge);
    await first.sandbox.close();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const second = await startBoth(accept, { state });
    await second.sandbox.webhooks.flush();
    expect(second.list()).toEqual([`failed ${reference}`]);
  });

  test('responds to the shop while its own webhook waits for it', async () => {
    const verified: string[] = [];
    const { sandbox, payments, createPayment } = await startBoth((_, response) => {
      payments.verify(reference).then(({ status }) => {
        verified.push(status);
        response.end('ok');
      });
    });
    const reference = await createPayment();
    sandbox.approve(reference);
    await sandbox.webhooks.flush();
    expect(verified).toEqual(['success']);
    expect(sandbox.webhooks.deliveries).toMatchObject([{ attempts: [{ status: 200, body: 'ok' }] }]);
  });
});

describe('a receiver', () => {
  test('that responds 500 is retried with advance, until it accepts', async () => {
    let requests = 0;
    const { sandbox, host, received, states, createPayment } = await startBoth((_, response) => {
      requests++;
      response.writeHead(requests < 3 ? 500 : 200).end(`request ${requests}`);
    });
    const retryDelays = [300_000, 600_000];
    sandbox.webhooks.deliverTo(`http://${host}/`, { retryDelays });
    sandbox.approve(await createPayment());
    const [delivery] = sandbox.webhooks.deliveries;
    for (const [attempts, delay] of retryDelays.entries()) {
      await vi.waitFor(() => expect(delivery?.attempts[attempts]?.status).toBe(500));
      sandbox.advance(delay / 2);
      expect(delivery).toMatchObject({ state: 'waiting', dueAt: expect.any(Number) });
      sandbox.advance(delay / 2);
    }
    await vi.waitFor(() => expect(states()).toEqual(['delivered']));
    expect(received).toHaveLength(3);
    expect(sandbox.webhooks.deliveries[0]?.attempts).toMatchObject([
      { status: 500, body: 'request 1', error: null },
      { status: 500, body: 'request 2', error: null },
      { status: 200, body: 'request 3', error: null },
    ]);
  });

  test('that hangs is disconnected after the timeout', async () => {
    let disconnects = 0;
    const { sandbox, host, received, states, createPayment } = await startBoth((request) => {
      request.socket.once('close', () => disconnects++);
    });
    sandbox.webhooks.deliverTo(`http://${host}/`, { timeout: 1_000, retryDelays: [] });
    sandbox.approve(await createPayment());
    await sandbox.webhooks.flush();
    expect(states()).toEqual(['failed']);
    const attempt = { status: null, body: null, error: 'No response within 1000 ms.' };
    expect(sandbox.webhooks.deliveries).toMatchObject([{ attempts: [attempt] }]);
    expect(received).toHaveLength(1);
    await vi.waitFor(() => expect(disconnects).toBe(1));
  });

  test('that resets the connection is retried', async () => {
    const { sandbox, createPayment } = await startBoth((request) => request.socket.resetAndDestroy());
    sandbox.approve(await createPayment());
    await sandbox.webhooks.flush();
    const { state, attempts } = sandbox.webhooks.deliveries[0] ?? {};
    expect(state).toBe('failed');
    expect(attempts).toHaveLength(5);
    for (const attempt of attempts ?? [])
      expect(attempt).toMatchObject({
        status: null,
        body: null,
        error: expect.stringMatching(/^The connection failed: (?:ECONNRESET|UND_ERR_SOCKET)\.$/),
      });
  });

  test('that does not run is retried, and its address is not in the error', async () => {
    const port = await findFreePort();
    const { sandbox, createPayment } = await startBoth(accept, {
      webhookUrl: `http://user:hush@127.0.0.1:${port}/in?token=hush`,
    });
    sandbox.approve(await createPayment());
    await sandbox.webhooks.flush();
    expect(sandbox.webhooks.deliveries).toMatchObject([
      { state: 'failed', attempts: new Array(5).fill({ error: 'The connection failed: ECONNREFUSED.' }) },
    ]);
  });

  test('that redirects is not followed', async () => {
    const { sandbox, received, createPayment } = await startBoth((request, response) => {
      response.writeHead(307, { location: `http://${request.headers.host}/other` }).end();
    });
    sandbox.approve(await createPayment());
    await sandbox.webhooks.flush();
    expect(received.map(({ url }) => url)).toEqual(new Array(5).fill('/webhooks'));
    expect(sandbox.webhooks.deliveries).toMatchObject([
      { state: 'failed', attempts: new Array(5).fill({ status: 307 }) },
    ]);
  });

  test('gets its user name and password, which are not shown', async () => {
    const { sandbox, host, received, createPayment } = await startBoth();
    sandbox.webhooks.deliverTo(`http://shop:p%C3%A4ss%20word@${host}/in?token=t#hash`);
    sandbox.approve(await createPayment());
    await sandbox.webhooks.flush();
    const authorization = `Basic ${Buffer.from('shop:päss word').toString('base64')}`;
    expect(received).toMatchObject([{ url: '/in?token=t', headers: { authorization } }]);
    const [delivery] = sandbox.webhooks.deliveries;
    expect(delivery).toMatchObject({ url: `http://${host}/in?token=t` });
    expect(delivery?.headers).not.toHaveProperty('authorization');
  });
});

describe('close', () => {
  test('cancels what is in flight and what waits', async () => {
    let disconnects = 0;
    const { sandbox, received, states, createPayment } = await startBoth((request) => {
      request.socket.once('close', () => disconnects++);
    });
    sandbox.approve(await createPayment());
    await vi.waitFor(() => expect(received).toHaveLength(1));
    const flushed = sandbox.webhooks.flush();
    sandbox.webhooks.fault({ kind: 'late', delay: 600_000 });
    sandbox.approve(await createPayment());
    await sandbox.close();
    await flushed;
    expect(states()).toEqual(['failed', 'failed']);
    await vi.waitFor(() => expect(disconnects).toBe(1));
    sandbox.advance(600_000);
    await sandbox.webhooks.flush();
    expect(received).toHaveLength(1);
  });
});

test('an invalid address is refused at the start, and not shown', async () => {
  const webhookUrl = 'ftp://user:hush@shop.test/in?token=hush';
  await expect(startSandbox({ webhookUrl })).rejects.toThrow(
    'webhookUrl must be an http or https address, such as http://localhost:3000/path.',
  );
});
