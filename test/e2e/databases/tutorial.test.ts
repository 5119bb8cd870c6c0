import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../helpers/databases.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { blocksOf, fileNameOf } from '../docs/blocks.ts';
import { faultsOf } from '../docs/compile.ts';
import { pages, tutorialPage } from '../docs/pages.ts';
import { find, start, startSandboxCommand } from '../docs/shop-process.ts';

const page = pages.find(({ path }) => path === tutorialPage) ?? { path: '', text: '' };
const files = blocksOf(page);
const listCode = (language: string) =>
  [...page.text.matchAll(new RegExp(`^\`\`\`${language}\\n(?<code>.*?)^\`\`\`$`, 'gms'))].map(
    ({ groups }) => groups?.code ?? '',
  );
const [sql = ''] = listCode('sql');
const [, , runSandbox = '', , loseResponse = '', resolveKey = ''] = listCode('sh');

test('compiles, with the client of the schema that it shows', async () => {
  expect(files.map(fileNameOf)).toEqual(['prisma.config.ts', 'payments.ts', 'shop.ts']);
  expect([...faultsOf(files, undefined, fileURLToPath(import.meta.url)).values()].flat()).toEqual([]);
  expect(listCode('prisma')).toEqual([
    await readFile(new URL('prisma/schema.prisma', import.meta.url), 'utf8'),
  ]);
});

test('sells once by phone and by page, and after a lost response', async () => {
  const shop = await startShop();
  const { sandbox } = shop;

  const first = await shop.buy();
  expect(await first.pay({ phone: '' })).toContain('The payment did not start');
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

  await shop.run(loseResponse);
  const third = await shop.buy();
  for (const _ of presses) expect(await third.pay(BY_PHONE)).toContain('Do not pay again.');
  const key = await find(shop.readOutput, /ALERT: .*payment (\S+): unresolved/);
  const prompt = await sandbox.findPrompt();
  // The list ends with 3: there are unresolved keys.
  const listed = resolveKey.replace('…/1', key).replace('TXN-…', prompt);
  expect(await shop.run(listed.replace(/^npx.*list.*$/m, '$& || test $? = 3'))).toContain(
    `${key} is ${prompt}`,
  );
  await sandbox.approve(prompt);
  expect(await sandbox.hasPrompt()).toBe(false);
  await third.waitFor('Thank you');

  await find(shop.readOutput, /(deliver.*\n(?:.*\n)*deliver.*\n(?:.*\n)*deliver)/);
  expect(await shop.stop()).toEqual([0, null]);
  expect(shop.readOutput().match(/deliver order/g)).toHaveLength(3);
  const paid = await shop.query('SELECT id FROM orders WHERE paid_at IS NOT NULL');
  expect(paid).toHaveLength(3);
});

const BY_PHONE = { phone: '0244123456', network: 'mtn' };

/** Starts the shop of the page on PostgreSQL, and its sandbox. */
async function startShop() {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const database = new Client({ connectionString: postgres.url });
  await database.connect();
  onTestFinished(() => database.end());
  await database.query(sql);

  const folder = await createFolder();
  const [, shown = ''] = /^npx payment-sandbox ([^\n]*\\\n[^\n]*)$/m.exec(runSandbox) ?? [];
  const options = shown.replaceAll('\\\n', '').split(/ +/);
  expect(options).toHaveLength(6);
  const sandbox = await startSandboxCommand(
    ...options.map((option) => option.replace('sandbox.db', join(folder, 'sandbox.db'))),
  );
  const env = {
    DATABASE_URL: postgres.url,
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    npm_config_update_notifier: 'false',
  };
  const { child, output, ended } = start('sh', ['-c', `${sandbox.line} && exec node shop.ts`], folder, {
    ...env,
    PORT: '0',
  });
  const readOutput = () => output.text;
  const port = await find(readOutput, /the shop is ready .*port: (\d+)/);
  const url = `http://127.0.0.1:${port}`;
  await setReceiver(sandbox.url, `${url}/webhooks/payments`);

  return {
    sandbox,
    readOutput,
    buy: () => buy(url),
    /** Runs a block of the page in the second terminal, and returns what it printed. */
    async run(code: string): Promise<string> {
      const command = `${sandbox.line}\n${code.replaceAll('http://127.0.0.1:4010', sandbox.url)}`;
      const block = start('sh', ['-ec', command], folder, env);
      expect([await block.ended, block.output.text]).toEqual([[0, null], expect.any(String)]);
      return block.output.text;
    },
    query: async (text: string) => (await database.query(text)).rows,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Creates the folder of the page, with its files, the package and its commands. */
async function createFolder(): Promise<string> {
  const packages = ['express', '@prisma'].map(
    (name) => [name, fileURLToPath(new URL(`node_modules/${name}`, import.meta.url))] as const,
  );
  const folder = await createMerchantProject(...packages);
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
    read,
    /** Presses "Pay", and returns the page, or the address that it leads to. */
    async pay(fields: Record<string, string>): Promise<string> {
      const response = await post(`${path}/pay`, fields);
      return response.headers.get('location') ?? (await response.text());
    },
    waitFor: (text: string) => find(read, new RegExp(`(${text})`)),
    /** Opens an address of the shop, and follows where it leads. */
    open: async (other: string) => (await fetch(url + other, { headers })).text(),
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
