import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PaymentsClientOptions } from 'payment-collection-client';
import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Shop } from '../shop/shop.ts';
import { Browser, readLocation } from './browser.ts';
import { Customer, EMAIL, type Paths } from './customer.ts';

/** A shop that is served by one framework. */
export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

const usualPaths: Paths = {
  checkout: '/checkout',
  returnPath: '/checkout/return',
  webhook: '/webhooks/payments',
};
/** The shop's own first check comes after the test has ended. */
const never = { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 };

/** Defines the tests that the checkout of every framework passes. */
export function describeCheckout(name: string, serve: (shop: Shop) => Promise<Served>, paths = usualPaths) {
  async function start(options: PaymentsClientOptions = {}) {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.close());
    const { baseUrl, testKey: apiKey } = sandbox;
    const shop = new Shop({ baseUrl, apiKey, maxRetries: 0, polling: never, ...options });
    onTestFinished(() => shop.close());
    const { url, close } = await serve(shop);
    onTestFinished(close);
    sandbox.webhooks.deliverTo(url + paths.webhook);
    return { sandbox, shop, url, customer: new Customer(url, paths) };
  }

  /** Waits until the customer, who came back with a reference in the URL, sees this page. */
  const waitForPage = (customer: Customer, text: string, query = '') =>
    vi.waitFor(async () => expect((await customer.returns(query)).text).toContain(text), { timeout: 30_000 });

  describe(name, () => {
    it("sends the customer to the checkout page with the shop's price", async () => {
      const { sandbox, customer } = await start();
      const page = await customer.pays({ amount: '1', currency: 'USD' });
      expect(page.status).toBe(303);
      expect(sandbox.transactions).toMatchObject([
        { amount: '25.50', currency: 'GHS', customer_email: EMAIL },
      ]);
      expect(readLocation(page)).toBe(`${sandbox.url}/checkout/${readReference(sandbox)}`);
    });

    it('delivers an order when its customer returns, and verify reports success', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      const query = `?reference=${readReference(sandbox)}&status=success`;
      const open = await customer.returns(query);
      expect(open.text).toContain('Not paid yet');
      expect(open.text).toContain('http-equiv="refresh"');
      sandbox.webhooks.fault({ kind: 'lost' });
      sandbox.approve(readReference(sandbox));
      await waitForPage(customer, '<h1>Paid</h1>', query);
      await vi.waitFor(() => expect(shop.orders.isDelivered(customer.order)).toBe(true), { timeout: 30_000 });
    });

    it('ignores the reference of another order in the URL', async () => {
      const { sandbox, url, customer } = await start();
      await customer.pays();
      const other = new Customer(url, paths);
      await other.pays();
      sandbox.approve(readReference(sandbox, 1));
      const query = `?reference=${readReference(sandbox, 1)}&status=success&order=${customer.order}`;
      expect((await customer.returns(query)).text).toContain('Not paid yet');
      await waitForPage(other, '<h1>Paid</h1>');
      expect((await customer.returns()).text).toContain('Not paid yet');
    });

    it('starts another payment of the order after a declined one', async () => {
      const { sandbox, customer } = await start();
      await customer.pays();
      sandbox.decline(readReference(sandbox));
      await waitForPage(customer, '<h1>Not paid</h1>', `?reference=${readReference(sandbox)}`);
      expect(readLocation(await customer.pays())).toBe(
        `${sandbox.url}/checkout/${readReference(sandbox, 1)}`,
      );
    });

    it('shows an order as in review after another amount was paid', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      sandbox.approve(readReference(sandbox));
      await waitForPage(customer, 'In review');
      expect(shop.orders.isDelivered(customer.order)).toBe(false);
    });

    it('shows an order as in review after a lost response, and starts no other', async () => {
      const { sandbox, customer } = await start();
      sandbox.fault('initialize', { kind: 'responseLost' });
      for (let presses = 0; presses < 2; presses++)
        expect(readLocation(await customer.pays())).toContain(paths.returnPath);
      expect((await customer.returns()).text).toContain('do not pay again');
      expect(sandbox.requests).toHaveLength(1);
    });

    it('names the rejected fields, and lets the customer correct them', async () => {
      const { sandbox, customer } = await start();
      const invalid = await customer.pays({ customer_email: 'ama' });
      expect(invalid.status).toBe(422);
      expect(invalid.text).toContain('customer_email: must be an email address');
      expect(sandbox.requests).toEqual([]);
      const body = { status: false, message: 'Refused', errors: { customer_email: ['is <blocked>'] } };
      sandbox.fault('initialize', { kind: 'status', status: 422, body });
      const rejected = await customer.pays();
      expect(rejected.status).toBe(422);
      expect(rejected.text).toContain('customer_email: is &#60;blocked&#62;');
      expect(await customer.pays()).toMatchObject({ status: 303 });
    });

    it('responds with 503 and Retry-After if nothing was sent', async () => {
      const { sandbox, customer } = await start({ baseUrl: await findClosedUrl() });
      const page = await customer.pays();
      expect([page.status, page.headers.get('retry-after')]).toEqual([503, '5']);
      expect(page.text).toContain('Payments are not possible at the moment');
      expect(sandbox.requests).toEqual([]);
    });

    it('passes the Retry-After of the service on', async () => {
      const { sandbox, customer } = await start();
      sandbox.fault('initialize', { kind: 'rateLimited', retryAfter: 17_000 });
      const page = await customer.pays();
      expect([page.status, page.headers.get('retry-after')]).toEqual([503, '17']);
      expect(await customer.pays()).toMatchObject({ status: 303 });
    });

    it("responds with 503 if the shop's key is wrong", async () => {
      const { customer } = await start({ apiKey: 'sk_test_wrong' });
      const page = await customer.pays();
      expect([page.status, page.headers.get('retry-after')]).toEqual([503, null]);
    });

    it('starts one payment for a button that is pressed three times', async () => {
      const { sandbox, customer } = await start();
      const pages = await Promise.all([customer.pays(), customer.pays()]);
      pages.push(await customer.pays());
      expect(new Set(pages.map(readLocation)).size).toBe(1);
      sandbox.approve(readReference(sandbox));
      await waitForPage(customer, '<h1>Paid</h1>');
      expect(readLocation(await customer.pays())).toContain(paths.returnPath);
      expect(sandbox.transactions).toHaveLength(1);
    });

    it('shows an order to its own customer only', async () => {
      const { sandbox, url, customer } = await start();
      await customer.pays();
      const stranger = new Browser(url);
      expect(readLocation(await stranger.get(paths.returnPath))).toMatch(/\/$/);
      const guess = { order: 'order-1', customer_email: EMAIL };
      expect(readLocation(await stranger.post(paths.checkout, guess))).toMatch(/\/$/);
      expect(sandbox.transactions).toHaveLength(1);
    });

    it('delivers an order after a webhook, without the customer', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.approve(readReference(sandbox));
      await vi.waitFor(() => expect(shop.orders.isDelivered(customer.order)).toBe(true), { timeout: 30_000 });
      await sandbox.webhooks.flush();
      expect(sandbox.webhooks.deliveries).toMatchObject([
        { state: 'delivered', attempts: [{ status: 204 }] },
      ]);
    });

    it('never trusts a webhook', async () => {
      const { sandbox, shop, url, customer } = await start();
      await customer.pays();
      sandbox.webhooks.send(readReference(sandbox), { status: 'success' });
      await vi.waitFor(() => expect(countChecks(sandbox)).toBe(1), { timeout: 30_000 });
      expect((await customer.returns()).text).toContain('Not paid yet');
      expect(shop.orders.isDelivered(customer.order)).toBe(false);
      const headers = { 'content-type': 'application/json' };
      for (const body of ['', '{', 'null', '[]', `"TXN-${'A'.repeat(400)}"`, '"TXN-../../initialize"']) {
        const { status } = await fetch(url + paths.webhook, { method: 'POST', body, headers });
        expect(status).toBeLessThan(500);
      }
      expect(sandbox.requests).toHaveLength(2);
    });
  });
}

function readReference(sandbox: Sandbox, index = 0): string {
  const transaction = sandbox.transactions[index];
  if (!transaction) throw new Error(`There is no transaction ${index}.`);
  return transaction.reference;
}

const countChecks = ({ requests }: Sandbox) =>
  requests.filter(({ operation }) => operation === 'verify').length;

/** Returns a URL on which no process listens. */
async function findClosedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/api/v1`;
}
