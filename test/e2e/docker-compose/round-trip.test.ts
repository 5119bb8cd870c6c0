import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { startComposition } from './composition.ts';

/** The command of the runbook, in the container of the shop. */
const JOURNAL = 'node_modules/.bin/payment-journal';

const folder = mkdtempSync(join(tmpdir(), 'payments-compose-'));
let composition: Awaited<ReturnType<typeof startComposition>>;
let customers = 0;

beforeAll(async () => {
  composition = await startComposition(folder);
});

afterAll(async () => {
  await composition?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a request to the API of the sandbox for scripts. */
async function callSandbox(path: string, body?: object): Promise<unknown> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(`${composition.sandbox}/sandbox${path}`, body ? init : {});
  const text = await response.text();
  expect(response.status, text).toBe(body ? 201 : 200);
  return JSON.parse(text);
}

const transactionsSchema = z.object({
  transactions: z.array(z.object({ reference: z.string(), status: z.string(), mode: z.string() })),
});

const readCookies = ({ headers }: Response) =>
  headers.getSetCookie().map((line) => {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    return [name, value] as const;
  });

/** Opens the basket as a new customer, with a browser that keeps cookies and follows redirects. */
async function openBasket() {
  const { shop, sandbox } = composition;
  const email = `ama${++customers}@example.com`;
  const cookies = new Map<string, string>();
  const visit = async (address: string, fields?: Record<string, string>) => {
    let [url, body] = [address, fields && new URLSearchParams(fields)];
    for (;;) {
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const headers = { cookie, ...(body ? { origin: new URL(url).origin } : {}) };
      const init = { headers, redirect: 'manual', ...(body ? { method: 'POST', body } : {}) } as const;
      const response = await fetch(url, init);
      for (const [name, value] of readCookies(response)) cookies.set(name, value);
      const [text, location] = [await response.text(), response.headers.get('location')];
      if (location === null) return { url, status: response.status, text };
      url = new URL(location, url).href;
      body = undefined;
    }
  };
  const [, order = ''] = /name="order" value="([^"]+)"/.exec((await visit(shop)).text) ?? [];
  const phone = `024412${String(customers).padStart(4, '0')}`;
  /** Every transaction of the customer at the service. */
  const findTransactions = async () =>
    transactionsSchema.parse(await callSandbox(`/transactions?search=${encodeURIComponent(email)}`))
      .transactions;
  const findReference = async () => {
    const found = await findTransactions();
    expect(found).toHaveLength(1);
    return found[0]?.reference ?? '';
  };
  return {
    order,
    visit,
    findTransactions,
    findReference,
    checkout: () => visit(`${shop}/checkout`, { order, customer_email: email }),
    charge: (network = 'mtn') => visit(`${shop}/charge`, { order, customer_email: email, phone, network }),
    /** Approves or declines on the page that plays the phone. */
    answerPhone: async (decision: 'approve' | 'decline') => {
      const reference = await findReference();
      expect((await visit(`${sandbox}/phone`)).text).toContain(reference);
      await visit(`${sandbox}/phone`, { reference, decision, pin: '1234' });
    },
    /** Reloads the customer's page, as the page does by itself, until it has a title. */
    waitForTitle: (title: string) =>
      vi.waitFor(async () => expect((await visit(`${shop}/order`)).text).toContain(`<h1>${title}</h1>`), {
        timeout: 240_000,
        interval: 100,
      }),
  };
}

const expectNoDoubleCharge = async () =>
  expect(await callSandbox('/double-charges')).toEqual({ doubleCharges: [] });

test('starts as written, and leads from the checkout page back to the shop', async () => {
  const { shop, sandbox, countParcels } = composition;
  const { order, visit, checkout, findReference, waitForTitle } = await openBasket();
  const page = await checkout();
  const reference = await findReference();
  expect(page).toMatchObject({ url: `${sandbox}/checkout/${reference}`, status: 200 });
  await waitForTitle('Not paid yet');
  const back = `${shop}/checkout/return?reference=${reference}`;
  expect((await visit(page.url, { outcome: 'pay' })).text).toContain(back);
  expect(await visit(back)).toMatchObject({ url: `${shop}/order`, status: 200 });
  await waitForTitle('Paid');
  expect(await countParcels(order)).toBe(1);
  expect(await callSandbox(`/webhooks?reference=${reference}`)).toMatchObject({
    webhooks: [{ url: `${shop}/webhooks/payments`, state: 'delivered' }],
  });
});

test('charges Mobile Money once, and ships after the approval', async () => {
  const { order, charge, answerPhone, findTransactions, waitForTitle } = await openBasket();
  expect(await charge()).toMatchObject({ url: `${composition.shop}/order`, status: 200 });
  expect((await charge()).text).toContain('Approve the payment on your phone');
  expect(await findTransactions()).toMatchObject([{ status: 'pending', mode: 'test' }]);
  await answerPhone('approve');
  await waitForTitle('Paid');
  expect(await composition.countParcels(order)).toBe(1);
  await expectNoDoubleCharge();
});

test('holds an order for review after a lost response, and lists its key', async () => {
  const { order, charge, answerPhone, findTransactions, findReference, waitForTitle } = await openBasket();
  await callSandbox('/faults', { operation: 'chargeMobileMoney', fault: { kind: 'responseLost' } });
  const lost = await charge();
  expect(lost.text).toContain('Please do not pay again');
  expect((await charge()).text).toContain('<h1>In review</h1>');
  expect(await findTransactions()).toHaveLength(1);

  const listed = await composition.exec('shop', [JOURNAL, 'list', '--json']);
  expect(listed.code).toBe(3);
  expect(listed.output).toContain(order);

  // A person finds the charge in the records of the service.
  const reference = await findReference();
  await answerPhone('approve');
  const note = ['--reference', reference, '--by', 'kofi@shop.example', '--reason', 'found by its phone'];
  const resolve = [JOURNAL, 'resolve', `${order}/1`, ...note];
  const resolved = await composition.exec('shop', resolve);
  expect(resolved.output).toContain(`Resolved: ${order}/1 is ${reference}`);
  expect(resolved.code).toBe(0);
  await waitForTitle('Paid');
  expect(await composition.countParcels(order)).toBe(1);
  expect((await composition.exec('shop', [JOURNAL, 'list'])).code).toBe(0);
  await expectNoDoubleCharge();
});

test('stops in an orderly way, and keeps orders and transactions', async () => {
  const { order, charge, answerPhone, waitForTitle } = await openBasket();
  await charge();
  const { transactions } = z.object({ transactions: z.number() }).parse(await callSandbox(''));
  expect(await composition.stop('shop')).toBe(0);
  expect(await composition.stop('sandbox')).toBe(0);
  await composition.up('shop');
  expect(await callSandbox('')).toMatchObject({ transactions });
  await answerPhone('approve');
  await waitForTitle('Paid');
  expect(await composition.countParcels(order)).toBe(1);
});

test('prints no customer data and no key of the shop', () => {
  expect(composition.print()).not.toMatch(/ama\d+@example\.com|024412\d{4}/);
  // The sandbox alone prints it, at each of its two starts.
  expect(composition.print().match(/sk_test_sandbox/g)).toHaveLength(2);
});
