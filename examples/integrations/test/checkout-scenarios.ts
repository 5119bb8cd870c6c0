import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PaymentsEvent } from 'payment-collection-client';
import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createShop, type Shop } from '../shop/shop.ts';
import { Browser, readLocation } from './browser.ts';
import { Customer, EMAIL, type Paths } from './customer.ts';
import { describeWebhooks } from './webhook-scenarios.ts';

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

  /** Starts the sandbox last, because it needs the address of the shop. */
  async function startRoundTrip() {
    const baseUrl = await findClosedUrl();
    const shop = createShop({ baseUrl, apiKey: 'sk_test_sandbox', maxRetries: 0, polling: never });
    onTestFinished(() => shop.payments.close());
    const { url, close } = await serve(shop);
    onTestFinished(close);
    const port = Number(new URL(baseUrl).port);
    const sandbox = await startSandbox({
      port,
      returnUrl: url + paths.returnPath,
      webhookUrl: url + paths.webhook,
    });
    onTestFinished(() => sandbox.close());
    return { url, customer: new Customer(url, paths) };
  }

  describeWebhooks(`${name}, with webhooks of the sandbox`, async (polling) => {
    const { sandbox, shop, url } = await start({ polling });
    sandbox.webhooks.deliverTo(url + paths.webhook);
    return {
      sandbox,
      async pay() {
        const customer = new Customer(url, paths);
        await customer.pays();
        const { reference = '' } = shop.orders.find(customer.order)?.payment ?? {};
        return { id: customer.order, reference, returns: () => customer.returns() };
      },
      readState: ({ id }) => shop.orders.find(id)?.state,
    };
  });

  describe(name, () => {
    it("sends the customer to the checkout page with the shop's price", async () => {
      const { sandbox, customer } = await start();
      const page = await customer.pays({ amount: '1', currency: 'USD' });
      expect(page.status).toBe(303);
      expect(sandbox.transactions).toMatchObject([
        { amount: '25.50', currency: 'GHS', customer_email: EMAIL },
      ]);
      expect(readLocation(page)).toBe(`${sandbox.url}/checkout/${referenceIn(sandbox)}`);
    });

    it('shows an open payment as not paid until verify reports success', async () => {
      const { sandbox, customer } = await start();
      await customer.pays();
      const open = await customer.returns();
      expect(open.text).toContain('Not paid yet');
      expect(open.text).toContain('http-equiv="refresh"');
      sandbox.approve(referenceIn(sandbox));
      expect((await customer.returns()).text).toContain('<h1>Paid</h1>');
    });

    it('ignores a reference in the URL', async () => {
      const { sandbox, url, customer } = await start();
      await customer.pays();
      await new Customer(url, paths).pays();
      const other = referenceIn(sandbox, 1);
      sandbox.approve(other);
      const page = await customer.returns(`?reference=${other}&status=success&order=${customer.order}`);
      expect(page.text).toContain('Not paid yet');
    });

    it('shows a declined payment as not paid', async () => {
      const { sandbox, customer } = await start();
      await customer.pays();
      sandbox.decline(referenceIn(sandbox));
      expect((await customer.returns()).text).toContain('<h1>Not paid</h1>');
    });

    it('holds an order for review after another amount was paid', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.approve(referenceIn(sandbox));
      sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      expect(await customer.returns()).toMatchObject({ status: 202 });
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'in_review' });
      expect((await customer.returns()).text).toContain('In review');
    });

    it('holds an order for review that is paid after it was not', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.abandon(referenceIn(sandbox));
      await customer.returns();
      sandbox.approve(referenceIn(sandbox));
      expect((await customer.returns()).text).toContain('In review');
      expect(shop.orders.find(customer.order)?.note).toContain('paid after it was not');
    });

    it('checks again after a failed check, and leaves the order as it is', async () => {
      const { sandbox, shop, customer } = await start();
      await customer.pays();
      sandbox.fault('verify', { kind: 'status', status: 502, body: 'html' });
      const page = await customer.returns();
      expect(page.status).toBe(503);
      expect(page.headers.get('retry-after')).toBe('5');
      expect(page.text).toContain('http-equiv="refresh"');
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paying' });
    });

    it('holds an order for review after a lost response, and starts no other', async () => {
      const { sandbox, shop, customer } = await start();
      sandbox.fault('initialize', { kind: 'responseLost' });
      const page = await customer.pays();
      expect(page.status).toBe(202);
      expect(page.text).toContain('do not pay again');
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'in_review' });
      const again = await customer.pays();
      expect(readLocation(again)).toContain(paths.returnPath);
      expect(sandbox.requests).toHaveLength(1);
    });

    it('names the rejected fields, and lets the customer correct them', async () => {
      const { sandbox, customer } = await start();
      const body = { status: false, message: 'Refused', errors: { customer_email: ['is <blocked>'] } };
      sandbox.fault('initialize', { kind: 'status', status: 422, body });
      const rejected = await customer.pays();
      expect(rejected.status).toBe(422);
      expect(rejected.text).toContain('customer_email: is &#60;blocked&#62;');
      expect(await customer.pays()).toMatchObject({ status: 303 });
    });

    it('sends nothing for an invalid email', async () => {
      const { sandbox, customer } = await start();
      const page = await customer.pays({ customer_email: 'ama' });
      expect(page.status).toBe(422);
      expect(page.text).toContain('customer_email: must be an email address');
      expect(sandbox.requests).toEqual([]);
    });

    it('responds with 503 and Retry-After if nothing was sent', async () => {
      const { sandbox, customer } = await start({ baseUrl: await findClosedUrl() });
      const page = await customer.pays();
      expect(page.status).toBe(503);
      expect(page.headers.get('retry-after')).toBe('5');
      expect(page.text).toContain('Payments are not possible at the moment');
      // An earlier call under the key might have charged.
      expect(page.text).not.toContain('Nothing was charged');
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
      expect(sandbox.transactions).toHaveLength(1);
      sandbox.approve(referenceIn(sandbox));
      await customer.returns();
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

    it.each([
      ['pay', 'Paid'],
      ['fail', 'Not paid'],
      ['abandon', 'Not paid'],
    ])('receives the customer after "%s" on the checkout page', async (outcome, title) => {
      const { url, customer } = await startRoundTrip();
      const checkoutUrl = readLocation(await customer.pays());
      const back = await press(checkoutUrl, outcome);
      const [reference] = /TXN-\w+$/.exec(checkoutUrl) ?? [];
      expect(back).toBe(`${url}${paths.returnPath}?reference=${reference}`);
      expect((await customer.opens(back)).text).toContain(`<h1>${title}</h1>`);
    });

    it('fulfils an order after a webhook, without the customer', async () => {
      const { sandbox, shop, url, customer } = await start();
      await customer.pays();
      const reference = referenceIn(sandbox);
      sandbox.approve(reference);
      const response = await postWebhook(
        url + paths.webhook,
        JSON.stringify({ event: 'paid', data: { reference } }),
      );
      expect(response.status).toBe(204);
      await vi.waitFor(() => expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paid' }), {
        timeout: 30_000,
      });
    });

    it('never trusts a webhook', async () => {
      const polled = Promise.withResolvers<void>();
      const onEvent = ({ type }: PaymentsEvent) => type === 'poll' && polled.resolve();
      const { sandbox, shop, url, customer } = await start({ onEvent });
      await customer.pays();
      const reference = referenceIn(sandbox);
      await postWebhook(
        url + paths.webhook,
        JSON.stringify({ event: 'paid', status: 'success', data: { reference } }),
      );
      await polled.promise;
      expect(shop.orders.find(customer.order)).toMatchObject({ state: 'paying' });
      expect((await customer.returns()).text).toContain('Not paid yet');
      for (const junk of ['', '{', 'null', '[]', `TXN-${'A'.repeat(400)}`, 'TXN-../../initialize'])
        expect((await postWebhook(url + paths.webhook, junk)).status).toBeLessThan(500);
      expect(sandbox.requests.filter(({ operation }) => operation !== 'verify')).toHaveLength(1);
    });
  });
}

function referenceIn(sandbox: Sandbox, index = 0): string {
  const transaction = sandbox.transactions[index];
  if (!transaction) throw new Error(`There is no transaction ${index}.`);
  return transaction.reference;
}

/** Presses a button of the sandbox's checkout page. Returns the address to which the page leads then. */
async function press(checkoutUrl: string, outcome: string): Promise<string> {
  const response = await fetch(checkoutUrl, {
    method: 'POST',
    body: new URLSearchParams({ outcome }),
    headers: { origin: new URL(checkoutUrl).origin },
  });
  return /http-equiv="refresh" content="3; url=([^"]+)"/.exec(await response.text())?.[1] ?? '';
}

const postWebhook = (url: string, body: string) =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

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
