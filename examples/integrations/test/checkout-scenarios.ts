import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PaymentsEvent } from 'payment-collection-client';
import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createShop, type Shop } from '../shop/shop.ts';
import { Browser, locationOf } from './browser.ts';
import { Customer, EMAIL, type Paths } from './customer.ts';

/** How one framework serves the shop. */
export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

const usualPaths: Paths = {
  checkout: '/checkout',
  comeBack: '/checkout/return',
  webhook: '/webhooks/payments',
};
/** The shop looks by itself only after any test has ended. */
const never = { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 };

/** What every checkout has to promise, whatever the framework. */
export function checkoutScenarios(name: string, serve: (shop: Shop) => Promise<Served>, paths = usualPaths) {
  async function start(options: Parameters<typeof createShop>[0] = {}) {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.close());
    const { baseUrl, testKey: apiKey } = sandbox;
    const shop = createShop({ baseUrl, apiKey, maxRetries: 0, polling: never, ...options });
    onTestFinished(() => shop.payments.close());
    const { url, close } = await serve(shop);
    onTestFinished(close);
    return { sandbox, shop, url, customer: new Customer(url, paths) };
  }

  describe(name, () => {
    it('sends the customer to the checkout page, with the price of the shop', async () => {
      const { sandbox, customer } = await start();
      const page = await customer.pays({ amount: '1', currency: 'USD' });
      expect(page.status).toBe(303);
      expect(sandbox.transactions).toMatchObject([
        { amount: '25.50', currency: 'GHS', customer_email: EMAIL },
      ]);
      expect(locationOf(page)).toBe(`${sandbox.url}/checkout/${referenceIn(sandbox)}`);
    });

    it('waits for an open payment, and believes verify alone that it was made', async () => {
      const { sandbox, customer } = await start();
      await customer.pays();
      const open = await customer.comesBack();
      expect(open.text).toContain('Not paid yet');
      expect(open.text).toContain('http-equiv="refresh"');
      sandbox.approve(referenceIn(sandbox));
      expect((await customer.comesBack()).text).toContain('<h1>Paid</h1>');
    });

    it('believes nothing in the address: another payment pays for no order', async () => {
      const { sandbox, url, customer } = await start();
      await customer.pays();
      await new Customer(url, paths).pays();
      const other = referenceIn(sandbox, 1);
      sandbox.approve(other);
      const page = await customer.comesBack(`?reference=${other}&status=success&order=${customer.order}`);
      expect(page.text).toContain('Not paid yet');
    });

    it('shows a declined payment as not paid', async () => {
      const { sandbox, customer } = await start();
      await customer.pays();
      sandbox.decline(referenceIn(sandbox));
      expect((await customer.comesBack()).text).toContain('<h1>Not paid</h1>');
    });

    it('holds an order that was paid with another amount', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.approve(referenceIn(sandbox));
      sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      expect(await customer.comesBack()).toMatchObject({ status: 202 });
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'in_review' });
      expect((await customer.comesBack()).text).toContain('In review');
    });

    it('holds an order that is paid after it was not', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.abandon(referenceIn(sandbox));
      await customer.comesBack();
      sandbox.approve(referenceIn(sandbox));
      expect((await customer.comesBack()).text).toContain('In review');
      expect(shop.orders.find(customer.order)?.note).toContain('paid after all');
    });

    it('asks again where the service cannot be asked, and says nothing about the payment', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.fault('verify', { kind: 'status', status: 502, body: 'html' });
      const page = await customer.comesBack();
      expect(page.status).toBe(503);
      expect(page.headers.get('retry-after')).toBe('5');
      expect(page.text).toContain('http-equiv="refresh"');
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paying' });
    });

    it('holds an order whose payment may have been started, and starts no other', async () => {
      const { sandbox, shop, customer } = await start();
      sandbox.fault('initialize', { kind: 'responseLost' });
      const page = await customer.pays();
      expect(page.status).toBe(202);
      expect(page.text).toContain('do not pay again');
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'in_review' });
      const again = await customer.pays();
      expect(locationOf(again)).toContain(paths.comeBack);
      expect(sandbox.requests).toHaveLength(1);
    });

    it('says which fields the service refused, and lets the customer mend them', async () => {
      const { sandbox, customer } = await start();
      const body = { status: false, message: 'Refused', errors: { customer_email: ['is <blocked>'] } };
      sandbox.fault('initialize', { kind: 'status', status: 422, body });
      const refused = await customer.pays();
      expect(refused.status).toBe(422);
      expect(refused.text).toContain('customer_email: is &#60;blocked&#62;');
      expect(await customer.pays()).toMatchObject({ status: 303 });
    });

    it('sends nothing for an email that is none, and says so', async () => {
      const { sandbox, customer } = await start();
      const page = await customer.pays({ customer_email: 'ama' });
      expect(page.status).toBe(422);
      expect(page.text).toContain('customer_email: must be an email address');
      expect(sandbox.requests).toEqual([]);
    });

    it('asks for patience where nothing was sent, and carries on once it can be', async () => {
      const { sandbox, customer } = await start({ baseUrl: await closedAddress() });
      const page = await customer.pays();
      expect(page.status).toBe(503);
      expect(page.headers.get('retry-after')).toBe('5');
      expect(page.text).toContain('Nothing was charged');
      expect(sandbox.requests).toEqual([]);
    });

    it('passes on how long the service asked to wait', async () => {
      const { sandbox, customer } = await start();
      sandbox.fault('initialize', { kind: 'rateLimited', retryAfter: 17_000 });
      const page = await customer.pays();
      expect([page.status, page.headers.get('retry-after')]).toEqual([503, '17']);
      expect(await customer.pays()).toMatchObject({ status: 303 });
    });

    it('does not send the customer away to mend a wrong key of the shop', async () => {
      const { customer } = await start({ apiKey: 'sk_test_wrong' });
      const page = await customer.pays();
      expect([page.status, page.headers.get('retry-after')]).toEqual([503, null]);
    });

    it('starts one payment for a button that is pressed twice, and again later', async () => {
      const { sandbox, customer } = await start();
      const pages = await Promise.all([customer.pays(), customer.pays()]);
      pages.push(await customer.pays());
      expect(new Set(pages.map(locationOf)).size).toBe(1);
      expect(sandbox.transactions).toHaveLength(1);
      sandbox.approve(referenceIn(sandbox));
      await customer.comesBack();
      expect(locationOf(await customer.pays())).toContain(paths.comeBack);
      expect(sandbox.transactions).toHaveLength(1);
    });

    it('shows nobody an order that is not theirs', async () => {
      const { sandbox, url, customer } = await start();
      await customer.pays();
      const stranger = new Browser(url);
      expect(locationOf(await stranger.get(paths.comeBack))).toMatch(/\/$/);
      const guess = { order: 'order-1', customer_email: EMAIL };
      expect(locationOf(await stranger.post(paths.checkout, guess))).toMatch(/\/$/);
      expect(sandbox.transactions).toHaveLength(1);
    });

    const { webhook } = paths;
    if (webhook === null) return;

    it('learns by a webhook of a customer who paid and never came back', async () => {
      const { sandbox, shop, url, customer } = await start();
      await customer.pays();
      const reference = referenceIn(sandbox);
      sandbox.approve(reference);
      const answer = await told(url + webhook, JSON.stringify({ event: 'paid', data: { reference } }));
      expect(answer.status).toBe(204);
      await vi.waitFor(() => expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paid' }), {
        timeout: 30_000,
      });
    });

    it('believes no webhook', async () => {
      const asked = Promise.withResolvers<void>();
      const onEvent = ({ type }: PaymentsEvent) => type === 'poll' && asked.resolve();
      const { sandbox, shop, url, customer } = await start({ onEvent });
      await customer.pays();
      const reference = referenceIn(sandbox);
      await told(url + webhook, JSON.stringify({ event: 'paid', status: 'success', data: { reference } }));
      await asked.promise;
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paying' });
      expect((await customer.comesBack()).text).toContain('Not paid yet');
      for (const junk of ['', '{', 'null', '[]', `TXN-${'A'.repeat(400)}`, 'TXN-../../initialize'])
        expect((await told(url + webhook, junk)).status).toBeLessThan(500);
      expect(sandbox.requests.filter(({ operation }) => operation !== 'verify')).toHaveLength(1);
    });
  });
}

function referenceIn(sandbox: Sandbox, index = 0): string {
  const transaction = sandbox.transactions[index];
  if (!transaction) throw new Error(`There is no transaction ${index}.`);
  return transaction.reference;
}

const told = (url: string, body: string) =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

/** An address where nobody listens any more. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/api/v1`;
}
