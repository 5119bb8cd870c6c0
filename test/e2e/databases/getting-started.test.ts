import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { blocksOf, fileNameOf } from '../docs/blocks.ts';
import { faultsOf } from '../docs/compile.ts';
import { pages, startPage } from '../docs/pages.ts';
import { find, start, startSandboxCommand } from '../docs/shop-process.ts';
import { fencedIn } from '../docs/tables.ts';

const page = pages.find(({ path }) => path === startPage) ?? { path: '', text: '' };
const files = blocksOf(page);
const commands = fencedIn(page.text, 'sh');
const [, runSandbox = '', runShop = '', loseResponse = ''] = commands;

test('compiles, with the types of Express', () => {
  expect(files.map(fileNameOf)).toEqual(['orders.ts', 'payments.ts', 'desk.ts', 'shop.ts']);
  expect([...faultsOf(files, '', fileURLToPath(import.meta.url)).values()].flat()).toEqual([]);
});

test('ends with the probe', () => {
  expect(commands.at(-1)).toBe('PAYMENTS_API_KEY=sk_test_sandbox npx payment-probe\n');
});

test('sells once by phone and by page, and after a decision at the desk', async () => {
  const shop = await startShop();
  const { sandbox, desk } = shop;

  const first = await shop.buy();
  await showsNoErrorOfOurs(shop, first);
  const presses = await Promise.all([first.pay(BY_PHONE), first.pay(BY_PHONE)]);
  for (const shown of presses) expect(shown).toContain('Approve the payment on your phone.');
  await sandbox.approve(await sandbox.findPrompt());
  expect(await sandbox.hasPrompt()).toBe(false);
  await first.waitFor('Thank you');

  const second = await shop.buy();
  const checkoutUrl = await second.pay({ method: 'checkout' });
  expect(checkoutUrl).toMatch(/\/checkout\/TXN-/);
  expect(await second.read()).toContain('We wait for your payment.');
  expect(await second.pay({ method: 'checkout' })).toBe(checkoutUrl);
  await press(checkoutUrl, 'fail');
  await second.waitFor('name="phone"');
  const nextUrl = await second.pay({ method: 'checkout' });
  expect(nextUrl).not.toBe(checkoutUrl);
  await press(nextUrl, 'pay');
  await second.waitFor('Thank you');
  expect(await second.open('/return?reference=TXN-OTHER')).toContain('Thank you');
  expect(await second.open('/orders/another')).toBe('Not Found');

  const third = await shop.buy();
  await changesTheNumber(shop, third);

  await shop.run(loseResponse);
  const fourth = await shop.buy();
  for (const _ of presses) expect(await fourth.pay(BY_PHONE)).toContain('Do not pay again.');
  await find(shop.readOutput, /ALERT: order (\S+) needs a person: unresolved/);
  const prompt = await sandbox.findPrompt();
  expect(await desk.open('', 'wrong')).toBe('Sign in.');
  const form = await desk.follow(fourth.id, 'A charge might exist');
  const found = { reference: prompt, reason: 'found on the page of the sandbox' };
  expect(await desk.record(form, 'The charge exists', { ...found, reference: 'TXN-OTHER' })).toContain(
    'Nothing was changed',
  );
  expect(await desk.record(form, 'The charge exists', found)).toContain('Recorded.');
  expect(await fourth.read()).toContain('Approve the payment on your phone.');
  await sandbox.approve(prompt);
  expect(await sandbox.hasPrompt()).toBe(false);
  await fourth.waitFor('Thank you');
  expect(await desk.open()).toContain('Nothing needs a person.');

  await find(shop.readOutput, /((?:deliver.*\n(?:.*\n)*?){4})/);
  expect(await shop.stop()).toEqual([0, null]);
  expect(shop.readOutput().match(/deliver order/g)).toHaveLength(4);
  expect(shop.countPaid()).toBe(4);
});

type Shop = Awaited<ReturnType<typeof startShop>>;
type Customer = Awaited<ReturnType<typeof buy>>;

/** What the customer, the service or the shop cannot do, each in words for the customer. */
async function showsNoErrorOfOurs({ sandbox }: Shop, customer: Customer): Promise<void> {
  expect(await customer.pay({ phone: '' })).toContain('did not start. Check the number');
  await fault(sandbox.url, { kind: 'rateLimited', retryAfter: 3_600_000 });
  expect(await customer.pay(BY_PHONE)).toContain('did not start. Try again in some minutes.');
  await fault(sandbox.url, { kind: 'status', status: 401 });
  expect(await customer.pay(BY_PHONE)).toBe('This does not work at the moment. Try again in some minutes.');
  expect(await sandbox.hasPrompt()).toBe(false);
}

/** The customer corrects a mistyped number, both prompts are approved, and a person closes the first. */
async function changesTheNumber({ sandbox, desk }: Shop, customer: Customer): Promise<void> {
  await customer.pay({ phone: '0200000000', network: 'telecel' });
  const mistyped = await sandbox.findPrompt();
  const differs = await customer.pay(BY_PHONE);
  expect(differs).toContain('Another payment is under way: finish it');
  const listPrompts = async () => [
    ...(await customer.open(`${sandbox.url}/phone`)).matchAll(/name="reference" value="(TXN-\w+)"/g),
  ];
  expect(await listPrompts()).toHaveLength(1);

  const [, link = ''] = /href="([^"]+\?change)"/.exec(await customer.read()) ?? [];
  const [, name = '', value = ''] =
    /<input type="hidden" name="(\w+)" value="(\w+)">/.exec(await customer.open(link)) ?? [];
  expect(await customer.pay({ ...BY_PHONE, [name]: value })).toContain('Approve the payment on your phone.');
  const corrected = (await listPrompts())
    .map(([, reference = '']) => reference)
    .filter((one) => one !== mistyped);
  expect(corrected).toHaveLength(1);
  await sandbox.approve(corrected[0] ?? '');
  await customer.waitFor('Thank you');

  await sandbox.approve(mistyped);
  await find(desk.open, /(Another payment pays the order already)/);
  const form = await desk.follow(customer.id, 'Another payment pays the order already');
  expect(await desk.record(form, 'Close the payment', { reason: 'paid back' })).toContain('Recorded.');
  expect(await desk.open()).toContain('Nothing needs a person.');
  expect(await customer.read()).toContain('Thank you');
}

/** Where the page says that the desk is. */
const [, deskPath = ''] = /^app\.use\('([^']+)', getRequestListener/m.exec(page.text) ?? [];
const BY_PHONE = { phone: '0244123456', network: 'mtn' };

/** Starts the shop of the page, and its sandbox. */
async function startShop() {
  const folder = await createFolder();
  const [, shown = ''] = /^npx payment-sandbox ([^\n]*\\\n[^\n]*)$/m.exec(runSandbox) ?? [];
  const options = shown.replaceAll('\\\n', '').split(/ +/);
  expect(options).toHaveLength(6);
  const sandbox = await startSandboxCommand(
    ...options.map((option) => option.replace('sandbox.db', join(folder, 'sandbox.db'))),
  );
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    npm_config_update_notifier: 'false',
  };
  const commands = `${sandbox.line}\n${runShop.replace('node shop.ts', 'exec node shop.ts')}`;
  const { child, output, ended } = start('sh', ['-ec', commands], folder, { ...env, PORT: '0' });
  const readOutput = () => output.text;
  const port = await find(readOutput, /the shop is ready .*port: (\d+)/);
  const url = `http://127.0.0.1:${port}`;
  await setReceiver(sandbox.url, `${url}/webhooks/payments`);

  return {
    sandbox,
    readOutput,
    buy: () => buy(url),
    desk: openDesk(`${url}${deskPath}`),
    /** Runs a block of the page in the second terminal. */
    async run(code: string): Promise<void> {
      const command = `${sandbox.line}\n${code.replaceAll('http://127.0.0.1:4010', sandbox.url)}`;
      const block = start('sh', ['-ec', command], folder, env);
      expect([await block.ended, block.output.text]).toEqual([[0, null], expect.any(String)]);
    },
    /** Counts the orders that the shop's own database has as paid. */
    countPaid(): number {
      using database = new DatabaseSync(join(folder, 'shop.db'), { readOnly: true });
      return database.prepare('SELECT id FROM orders WHERE paid_at IS NOT NULL').all().length;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Creates the folder of the page, with its files, the package and its commands. */
async function createFolder(): Promise<string> {
  const express = fileURLToPath(new URL('node_modules/express', import.meta.url));
  const folder = await createMerchantProject('@hono/node-server', 'hono', ['express', express]);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const block of files) await writeFile(join(folder, fileNameOf(block) ?? ''), block.code);
  return folder;
}

/** The shop's port is known only once it listens: the sandbox, which it needs, has started before. */
async function setReceiver(sandboxUrl: string, url: string): Promise<void> {
  const { status } = await fetch(`${sandboxUrl}/sandbox/webhooks/receiver`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  });
  expect(status).toBe(200);
}

/** Injects one fault into the charge. */
async function fault(sandboxUrl: string, fault: object): Promise<void> {
  const { status } = await fetch(`${sandboxUrl}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'chargeMobileMoney', fault }),
  });
  expect(status).toBe(201);
}

/** Opens the desk as a member of the staff, with the password of the page. */
function openDesk(url: string) {
  const [, password = ''] = /^export DESK_PASSWORD=(\S+)$/m.exec(runShop) ?? [];
  const sign = (given: string) => ({
    authorization: `Basic ${Buffer.from(`Ama Owusu:${given}`).toString('base64')}`,
  });
  const open = async (query = '', given = password) =>
    (await fetch(`${url}${query}`, { headers: sign(given) })).text();
  return {
    open,
    /** Follows the link of an order that is listed for a reason, and returns its address and page. */
    async follow(order: string, reason: string) {
      const link = `?order=${order}`;
      const list = await open();
      expect(list).toContain(`href="${link}"`);
      expect(list).toContain(reason);
      return { link, page: await open(link) };
    },
    /** Fills in the form of a decision, sends it as a browser does, and returns the page that it leads to. */
    async record(
      { link, page }: { link: string; page: string },
      decision: string,
      fields: Record<string, string>,
    ): Promise<string> {
      const form = page.split(`<summary>${decision}</summary>`)[1]?.split('</form>')[0] ?? '';
      const hidden = [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
      const filled = Object.fromEntries(
        hidden.map(([, name, value = '']) => [name, value.replaceAll('&quot;', '"')]),
      );
      const response = await fetch(`${url}${link}`, {
        method: 'POST',
        headers: { ...sign(password), 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ ...filled, ...fields }),
      });
      return response.text();
    },
  };
}

/** Buys in a browser of its own. */
async function buy(url: string) {
  const send = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, redirect: 'manual' });
  const post = (path: string, fields: Record<string, string>) =>
    send(path, { method: 'POST', body: new URLSearchParams(fields) });
  const placed = await post('/orders', { email: 'ama@example.com' });
  const path = placed.headers.get('location') ?? '';
  const headers = { cookie: placed.headers.get('set-cookie')?.split(';')[0] ?? '' };
  const read = async () => (await send(path)).text();
  return {
    id: path.split('/').at(-1) ?? '',
    read,
    /** Presses "Pay", and returns the page, or the address that it leads to. */
    async pay(fields: Record<string, string>): Promise<string> {
      const response = await post(`${path}/pay`, fields);
      return response.headers.get('location') ?? (await response.text());
    },
    waitFor: (text: string) => find(read, new RegExp(`(${text})`)),
    /** Opens an address of the shop, and follows where it leads. */
    open: async (other: string) => (await fetch(new URL(other, url), { headers })).text(),
  };
}

/** Presses a button of the sandbox's checkout page. */
async function press(checkoutUrl: string, outcome: string): Promise<void> {
  const headers = { origin: new URL(checkoutUrl).origin };
  await fetch(checkoutUrl, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ outcome }),
    redirect: 'manual',
  });
}
