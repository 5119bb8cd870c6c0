import { Test } from '@nestjs/testing';
import { startSandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AppModule } from '../nestjs/app.module.ts';
import { Settings } from '../nestjs/settings.module.ts';
import { Shop } from '../shop/shop.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

async function start() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const { baseUrl, testKey: apiKey } = sandbox;
  const testing = Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(Settings)
    .useValue({ baseUrl, apiKey });
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
  const id = String(order.id);
  const payment = `/orders/${id}/payment`;
  const pay = (customer_email = 'ama@example.com') => ask('POST', payment, { customer_email });
  const reference = () => sandbox.transactions[0]?.reference ?? '';
  return { sandbox, app, url, id, ask, payment, pay, reference };
}

describe('The NestJS checkout', () => {
  it('returns one checkout page for any number of requests', async () => {
    const { sandbox, pay, reference } = await start();
    const answers = await Promise.all([pay(), pay()]);
    answers.push(await pay());
    const url = `${sandbox.url}/checkout/${reference()}`;
    for (const { status, body } of answers) expect([status, body]).toEqual([201, { url }]);
    expect(sandbox.transactions).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);
  });

  it('delivers after a webhook, and only if verify reports success', async () => {
    const { sandbox, app, url, id, ask, payment, pay, reference } = await start();
    const { orders } = app.get(Shop, { strict: false });
    sandbox.webhooks.deliverTo(`${url}/webhooks/payments`);
    await pay();
    sandbox.webhooks.send(reference(), { status: 'success' });
    await sandbox.webhooks.flush();
    expect((await ask('GET', payment)).body).toEqual({ state: 'processing', canPay: false });
    sandbox.approve(reference());
    await vi.waitFor(() => expect(orders.isDelivered(id)).toBe(true), { timeout: 30_000 });
    expect((await ask('GET', payment)).body).toEqual({ state: 'paid', canPay: false });
  });

  it('shows an order as in review after a lost response, and starts no other', async () => {
    const { sandbox, ask, payment, pay } = await start();
    sandbox.fault('initialize', { kind: 'responseLost' });
    for (let presses = 0; presses < 2; presses++) expect(await pay()).toMatchObject({ status: 201 });
    expect(sandbox.requests).toHaveLength(1);
    expect((await ask('GET', payment)).body).toEqual({ state: 'in_review', canPay: false });
  });

  it('names the wrong fields, of the client and of the service', async () => {
    const { sandbox, pay } = await start();
    const found = await pay('ama');
    expect(found).toMatchObject({ status: 422, body: { fields: [{ field: 'customer_email' }] } });
    const body = { status: false, errors: { customer_email: ['is blocked'] } };
    sandbox.fault('initialize', { kind: 'status', status: 422, body });
    const fields = [{ field: 'customer_email', message: 'is blocked' }];
    expect(await pay()).toMatchObject({ status: 422, body: { fields } });
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
});
