import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FOLDER, readComposeFile } from './compose-file.ts';
import { Composition } from './composition.ts';
import { copyContext, packInto } from './context.ts';
import { Customer, type Page } from './customer.ts';
import { buildImage } from './image.ts';

const SHOP = 'http://localhost:3000';
const SANDBOX = 'http://localhost:4010';

/** The command of the runbook, in the container of the shop. */
const JOURNAL = 'node_modules/.bin/payment-journal';

const folder = mkdtempSync(join(tmpdir(), 'payments-compose-'));
let composition: Composition;
let customers = 0;

// As README.md says for this repository: the tarball of `npm pack` lies in the folder.
beforeAll(async () => {
  const context = copyContext(FOLDER, folder);
  await packInto(context);
  const image = await buildImage(context, join(folder, 'root'), process.env);
  composition = await Composition.create(readComposeFile(), image);
  await composition.up('shop');
});

afterAll(async () => {
  await composition?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the basket as a new customer. */
async function openBasket() {
  customers++;
  const customer = new Customer(composition, `ama${customers}@example.com`);
  const { text } = await customer.get(SHOP);
  const [, order = ''] = /name="order" value="([^"]+)"/.exec(text) ?? [];
  const phone = `024412${String(customers).padStart(4, '0')}`;
  return {
    customer,
    order,
    checkout: () => customer.post(`${SHOP}/checkout`, { order, customer_email: customer.email }),
    charge: (network = 'mtn') =>
      customer.post(`${SHOP}/charge`, { order, customer_email: customer.email, phone, network }),
  };
}

interface SandboxTransaction {
  readonly reference: string;
  readonly status: string;
  readonly mode: string;
}

async function readSandbox<Body>(path: string): Promise<Body> {
  const response = await composition.fetch(`${SANDBOX}/sandbox${path}`);
  const body: unknown = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body as Body;
}

async function postToSandbox(path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await composition.fetch(`${SANDBOX}/sandbox${path}`, init);
  expect(response.status, await response.text()).toBe(201);
}

/** Returns every transaction of a customer at the service. */
async function findTransactions({ email }: Customer): Promise<SandboxTransaction[]> {
  const { transactions } = await readSandbox<{ transactions: SandboxTransaction[] }>(
    `/transactions?search=${encodeURIComponent(email)}`,
  );
  return transactions;
}

async function findReference(customer: Customer): Promise<string> {
  const [transaction, ...others] = await findTransactions(customer);
  if (!transaction || others.length > 0) throw new Error(`${customer.email} has not one transaction.`);
  return transaction.reference;
}

/** Approves or declines on the page that plays the phone. */
async function answerPhone(customer: Customer, decision: 'approve' | 'decline'): Promise<void> {
  const reference = await findReference(customer);
  expect((await customer.get(`${SANDBOX}/phone`)).text).toContain(reference);
  await customer.post(`${SANDBOX}/phone`, { reference, decision, pin: '1234' });
}

/** Reloads the customer's page, as the page does by itself, until it has a title. */
async function waitForTitle(customer: Customer, title: string): Promise<Page> {
  return vi.waitFor(
    async () => {
      const page = await customer.get(`${SHOP}/order`);
      expect(page.text).toContain(`<h1>${title}</h1>`);
      return page;
    },
    { timeout: 60_000, interval: 100 },
  );
}

async function countParcels(order: string): Promise<number> {
  return (await composition.query('SELECT 1 FROM parcels WHERE order_id = $1', [order])).length;
}

async function expectNoDoubleCharge(): Promise<void> {
  expect(await readSandbox('/double-charges')).toEqual({ doubleCharges: [] });
}

test('starts as written, and leads from the checkout page back to the shop', async () => {
  const { customer, order, checkout } = await openBasket();
  const page = await checkout();
  const reference = await findReference(customer);
  expect(page).toMatchObject({ url: `${SANDBOX}/checkout/${reference}`, status: 200 });
  expect((await customer.get(`${SHOP}/order`)).text).toContain('<h1>Not paid yet</h1>');

  const paid = await customer.post(page.url, { outcome: 'pay' });
  const back = `${SHOP}/checkout/return?reference=${reference}`;
  expect(paid.text).toContain(back);
  const returned = await customer.get(back);
  expect(returned).toMatchObject({ url: `${SHOP}/order`, status: 200 });
  await waitForTitle(customer, 'Paid');
  expect(await countParcels(order)).toBe(1);

  const { webhooks } = await readSandbox<{ webhooks: { url: string; state: string }[] }>(
    `/webhooks?reference=${reference}`,
  );
  expect(webhooks).toMatchObject([{ url: 'http://shop:3000/webhooks/payments', state: 'delivered' }]);
});

test('charges Mobile Money once, and ships after the approval', async () => {
  const { customer, order, charge } = await openBasket();
  expect(await charge()).toMatchObject({ url: `${SHOP}/order`, status: 200 });
  expect((await charge()).text).toContain('Approve the payment on your phone');
  expect(await findTransactions(customer)).toMatchObject([{ status: 'pending', mode: 'test' }]);
  await answerPhone(customer, 'approve');
  await waitForTitle(customer, 'Paid');
  expect(await countParcels(order)).toBe(1);
  await expectNoDoubleCharge();
});

test('charges nothing if the network is not known, and lists the networks', async () => {
  const { customer, charge } = await openBasket();
  for (const network of ['vodafone', 'MTN', '']) {
    const { status, text } = await charge(network);
    expect([status, text]).toEqual([400, expect.stringContaining('network: mtn, telecel, airteltigo.')]);
  }
  expect(await findTransactions(customer)).toEqual([]);
});

test('charges an order again that was declined on the phone', async () => {
  const { customer, order, charge } = await openBasket();
  await charge();
  await answerPhone(customer, 'decline');
  await waitForTitle(customer, 'Not paid');
  expect(await countParcels(order)).toBe(0);
  expect((await charge()).text).toContain('Approve the payment on your phone');
  expect(await findTransactions(customer)).toHaveLength(2);
});

test('holds an order for review after a lost response, and lists its key', async () => {
  const { customer, order, charge } = await openBasket();
  await postToSandbox('/faults', { operation: 'chargeMobileMoney', fault: { kind: 'responseLost' } });
  const lost = await charge();
  expect(lost.text).toContain('Please do not pay again');
  expect((await charge()).text).toContain('<h1>In review</h1>');
  expect(await findTransactions(customer)).toHaveLength(1);

  const listed = await composition.exec('shop', [JOURNAL, 'list', '--json']);
  expect(listed.code).toBe(3);
  expect(listed.output).toContain(order);

  // A person finds the charge in the records of the service.
  const reference = await findReference(customer);
  await answerPhone(customer, 'approve');
  const note = ['--reference', reference, '--by', 'kofi@shop.example', '--reason', 'found by its phone'];
  const resolve = [JOURNAL, 'resolve', `${order}/1`, ...note];
  const resolved = await composition.exec('shop', resolve);
  expect(resolved.output).toContain(`Resolved: ${order}/1 is ${reference}`);
  expect(resolved.code).toBe(0);
  await waitForTitle(customer, 'Paid');
  expect(await countParcels(order)).toBe(1);
  expect((await composition.exec('shop', [JOURNAL, 'list'])).code).toBe(0);
  await expectNoDoubleCharge();
});

test('stops in an orderly way, and keeps orders and transactions', async () => {
  const { customer, order, charge } = await openBasket();
  await charge();
  const before = await readSandbox<{ transactions: number }>('');
  expect(await composition.stop('shop')).toBe(0);
  expect(await composition.stop('sandbox')).toBe(0);
  await composition.up('shop');
  expect(await readSandbox('')).toMatchObject({ transactions: before.transactions });
  await answerPhone(customer, 'approve');
  await waitForTitle(customer, 'Paid');
  expect(await countParcels(order)).toBe(1);
});

test('prints no customer data and no key', async () => {
  for (const service of ['shop', 'sandbox']) {
    const log = composition.logs(service);
    expect(log).not.toMatch(/ama\d+@example\.com|024412\d{4}/);
    if (service === 'shop') expect(log).not.toContain('sk_test_sandbox');
  }
});
