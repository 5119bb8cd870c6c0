import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ClosedError, PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { startSandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppModule } from '../nestjs/app.module.ts';
import { Settings } from '../nestjs/settings.module.ts';
import { Orders } from '../shop/orders.ts';
import { describeWebhooks } from './webhook-scenarios.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

async function start(options: PaymentsClientOptions = {}) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const { baseUrl, testKey: apiKey } = sandbox;
  const testing = Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(Settings)
    .useValue({ baseUrl, apiKey });
  if (Object.keys(options).length > 0) {
    const payments = new PaymentsClient({ baseUrl, apiKey, journal: memoryJournal(), ...options });
    testing.overrideProvider(PaymentsClient).useValue(payments);
  }
  const module = await testing.compile();
  const app = module.createNestApplication({ logger: false });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const init = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
    const answer = await fetch(url + path, { method, ...init });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text ? JSON.parse(text) : {} };
  };
  const { body: order } = await ask('POST', '/orders');
  const payment = `/orders/${order.id}/payment`;
  const pay = (customer_email = 'ama@example.com') => ask('POST', payment, { customer_email });
  const reference = () => sandbox.transactions[0]?.reference ?? '';
  return { sandbox, app, url, ask, payment, pay, reference };
}

const clientOf = (app: INestApplication) => app.get(PaymentsClient, { strict: false });

describeWebhooks('The NestJS checkout, with webhooks of the sandbox', async (polling) => {
  const { sandbox, app, url, ask } = await start({ polling });
  sandbox.webhooks.deliverTo(`${url}/webhooks/payments`);
  const orders = app.get(Orders, { strict: false });
  return {
    sandbox,
    async pay() {
      const { body } = await ask('POST', '/orders');
      const id = String(body.id);
      await ask('POST', `/orders/${id}/payment`, { customer_email: 'ama@example.com' });
      const { reference = '' } = orders.find(id)?.payment ?? {};
      return { id, reference, returns: () => ask('GET', `/orders/${id}/payment`) };
    },
    readState: ({ id }) => orders.find(id)?.state,
  };
});

describe('The NestJS checkout', () => {
  it('returns one payment for any number of requests', async () => {
    const { sandbox, pay, reference } = await start();
    const answers = await Promise.all([pay(), pay()]);
    answers.push(await pay());
    const checkout_url = `${sandbox.url}/checkout/${reference()}`;
    for (const { status, body } of answers) expect([status, body]).toEqual([201, { checkout_url }]);
    expect(sandbox.transactions).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);
  });

  it('reports paid only after verify does', async () => {
    const { sandbox, ask, payment, pay, reference } = await start();
    await pay();
    expect((await ask('GET', payment)).body).toEqual({ state: 'paying' });
    sandbox.approve(reference());
    expect((await ask('GET', payment)).body).toEqual({ state: 'paid' });
  });

  it('holds an order for review after a lost response, and starts no other', async () => {
    const { sandbox, ask, payment, pay } = await start();
    sandbox.fault('initialize', { kind: 'responseLost' });
    const unknown = { status: 202, body: { outcome: 'unknown' } };
    expect(await pay()).toMatchObject(unknown);
    expect(await pay()).toMatchObject(unknown);
    expect(sandbox.requests).toHaveLength(1);
    expect((await ask('GET', payment)).body).toEqual({ state: 'in_review' });
  });

  it('holds an order for review after another amount was paid', async () => {
    const { sandbox, ask, payment, pay, reference } = await start();
    await pay();
    sandbox.approve(reference());
    sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
    expect(await ask('GET', payment)).toMatchObject({ status: 202, body: { outcome: null } });
    expect((await ask('GET', payment)).body).toEqual({ state: 'in_review' });
  });

  it('names the wrong fields, of the client and of the service', async () => {
    const { sandbox, pay } = await start();
    const found = await pay('ama');
    expect(found).toMatchObject({ status: 422, body: { outcome: 'not_sent' } });
    expect(found.body.fields).toMatchObject([{ field: 'customer_email' }]);
    const body = { status: false, errors: { customer_email: ['is blocked'] } };
    sandbox.fault('initialize', { kind: 'status', status: 422, body });
    const fields = [{ field: 'customer_email', message: 'is blocked' }];
    expect(await pay()).toMatchObject({ status: 422, body: { outcome: 'rejected', fields } });
    expect(await pay()).toMatchObject({ status: 201 });
  });

  it('passes the Retry-After of the service on', async () => {
    const { sandbox, pay } = await start();
    sandbox.fault('initialize', { kind: 'rateLimited', retryAfter: 120_000 });
    const { status, headers } = await pay();
    expect([status, headers.get('retry-after')]).toEqual([503, '120']);
  });

  it('leaves other errors to Nest', async () => {
    const { ask } = await start();
    expect(await ask('GET', '/orders/none/payment')).toMatchObject({ status: 404 });
  });

  it('checks at once after a webhook, and ends waits with the application', async () => {
    const { sandbox, app, ask } = await start();
    const payments = clientOf(app);
    const { reference } = await payments.initialize({ amount: 1, customer_email: 'ama@example.com' });
    const slow = { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 };
    const woken = payments.waitForFinalStatus(reference, { ...slow, startedAt: Date.now() });
    sandbox.approve(reference);
    const told = await ask('POST', '/webhooks/payments', { data: { reference } });
    expect(told.status).toBe(204);
    expect(await woken).toMatchObject({ status: 'success' });

    const left = expect(
      payments.waitForFinalStatus('TXN-OTHER', { ...slow, startedAt: Date.now() }),
    ).rejects.toBeInstanceOf(ClosedError);
    await app.close();
    await left;
  });
});
