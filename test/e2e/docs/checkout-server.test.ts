import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { findClosedPort } from '../../helpers/listen.ts';
import { blocksOf, fileNameOf } from './blocks.ts';
import { pages } from './pages.ts';
import { find, start, startSandboxCommand } from './shop-process.ts';

const page = pages.find(({ path }) => path === 'docs/guides/checkout.md') ?? { path: '', text: '' };

/** Starts the server of the page, and a sandbox that leads back to it and posts webhooks to it. */
async function startShop() {
  const port = await findClosedPort();
  const url = `http://127.0.0.1:${port}`;
  const [, shown = ''] = /^npx payment-sandbox (.+)$/m.exec(page.text) ?? [];
  const options = shown.replaceAll('http://127.0.0.1:3000', url).split(' ');
  expect(options).toHaveLength(4);
  const sandbox = await startSandboxCommand(...options);
  const folder = await createMerchantProject();
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const block of blocksOf(page)) {
    const name = fileNameOf(block);
    if (name !== undefined) await writeFile(join(folder, name), block.code);
  }
  const command = `${sandbox.line} && exec "${process.execPath}" shop.ts`;
  const shop = start('sh', ['-c', command], folder, { PORT: String(port) });
  await find(() => shop.output.text, /(the shop is ready)/);
  return { url, shop, sandbox };
}

/** A customer's browser, with the shop's cookie. */
async function visit(url: string) {
  const response = await fetch(url);
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  const open = (path: string, method = 'GET') =>
    fetch(url + path, { method, headers: { cookie }, redirect: 'manual' });
  return {
    async pay(): Promise<string> {
      const response = await open('/checkout', 'POST');
      expect(response.status).toBe(303);
      return response.headers.get('location') ?? '';
    },
    order: async (method: string, path: string) => (await open(path, method)).text(),
    readOrder: async () => (await open('/checkout/return')).text(),
  };
}

/** Presses a button of the sandbox's checkout page, as a customer who then closes the browser. */
async function press(checkoutUrl: string, outcome: string): Promise<void> {
  const headers = { origin: new URL(checkoutUrl).origin };
  await fetch(checkoutUrl, { method: 'POST', headers, body: new URLSearchParams({ outcome }) });
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Makes the sandbox fail at the next payment that is started. */
async function injectFault(url: string, fault: { kind: string; status?: number }): Promise<void> {
  const { status } = await fetch(`${url}/sandbox/faults`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ operation: 'initialize', fault }),
  });
  expect(status).toBe(201);
}

test('sells by checkout page if a customer clicks twice, or does not return', async () => {
  const { url, shop, sandbox } = await startShop();
  const customer = await visit(url);
  const [first, second] = await Promise.all([customer.pay(), customer.pay()]);
  expect(first).toMatch(/\/checkout\/TXN-/);
  expect(second).toBe(first);
  expect(await customer.readOrder()).toContain('We wait for your payment');
  expect(await customer.readOrder()).toContain('Open the payment page again');
  expect(await customer.pay()).toBe(first);
  await press(first, 'pay');
  expect(await customer.readOrder()).toContain('Thank you');
  expect(await customer.pay()).toBe('/checkout/return');

  const other = await visit(url);
  await press(await other.pay(), 'fail');
  expect(await other.readOrder()).toContain('The payment was not completed');

  // The webhook of the sandbox makes the follow-up check at once.
  const absent = await visit(url);
  await press(await absent.pay(), 'pay');
  await find(() => shop.output.text, /(deliver order .*\n.*deliver order )/);

  const refused = await visit(url);
  await injectFault(sandbox.url, { kind: 'status', status: 422 });
  const page = await refused.order('POST', '/checkout');
  expect(page).toContain('We could not start the payment');
  // Its button pays the same order, and not a new one.
  expect(page).not.toContain('href="/"');
  expect(await refused.pay()).toMatch(/\/checkout\/TXN-/);

  const doubtful = await visit(url);
  await injectFault(sandbox.url, { kind: 'responseLost' });
  expect(await doubtful.order('POST', '/checkout')).toContain('We are checking your payment');
  expect(await doubtful.readOrder()).toContain('We are checking your payment');

  shop.child.kill('SIGTERM');
  expect(await shop.ended).toEqual([0, null]);
  expect(shop.output.text.match(/deliver order/g)).toHaveLength(2);
  expect(shop.output.text).not.toMatch(/sk_live|ama@example/);
}, 300_000);

test('believes no webhook, whatever its length and form', async () => {
  const { url, shop, sandbox } = await startShop();
  const customer = await visit(url);
  const checkoutUrl = await customer.pay();
  const post = async (body: string) =>
    (await fetch(`${url}/webhooks/payments`, { method: 'POST', body })).status;
  const reference = checkoutUrl.split('/').at(-1);
  expect(await post('x'.repeat(1_000_000))).toBe(204);
  expect(await post(JSON.stringify({ data: { reference, status: 'success' } }))).toBe(204);
  expect(await customer.readOrder()).toContain('We wait for your payment');
  expect(shop.output.text).not.toContain('deliver');

  // Without `Content-Length`. Its check comes at once: the schedule's first would come after 8 s.
  await fetch(`${sandbox.url}/sandbox/webhooks/receiver`, {
    method: 'PUT',
    headers: JSON_TYPE,
    body: '{"url":null}',
  });
  await press(checkoutUrl, 'pay');
  const body = new Blob([`{"data":{"reference":"${reference}"}}`]).stream();
  const init = { method: 'POST', body, duplex: 'half' } as const;
  expect((await fetch(`${url}/webhooks/payments`, init)).status).toBe(204);
  await find(() => shop.output.text, /(deliver order )/);
}, 300_000);
