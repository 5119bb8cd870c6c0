import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { Client, type Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/developers/mock/index.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { blocksOf, fileNameOf } from '../docs/blocks.ts';
import { faultsOf } from '../docs/compile.ts';
import { frameworksPage, pages } from '../docs/pages.ts';
import { findFalseComments, runBlock } from '../docs/run.ts';
import { find, start, startSandboxCommand } from '../docs/shop-process.ts';
import { fencedIn } from '../docs/tables.ts';

const page = pages.find(({ path }) => path === frameworksPage) ?? { path: '', text: '' };
const blocks = blocksOf(page);
const [sql = ''] = fencedIn(page.text, 'sql');

test('compiles, with the client of the schema that it shows', async () => {
  expect(blocks).toHaveLength(7);
  expect([...faultsOf(blocks, '', fileURLToPath(import.meta.url)).values()].flat()).toEqual([]);
  expect(fencedIn(page.text, 'prisma')).toEqual([
    await readFile(new URL('prisma/schema.prisma', import.meta.url), 'utf8'),
  ]);
});

test('sells once on Fastify with Prisma', async () => {
  const { send, sandbox, stop, readOutput, countPaid } = await startShop();
  const place = async (email: string): Promise<string> => (await send('/orders', { email })).body.id;
  const BY_PHONE = { phone: '0244123456', network: 'mtn' };
  const SENT = { status: 200, body: { message: 'Please approve the payment on your phone.' } };
  const PAID = { status: 200, body: { message: 'Thank you. Your order is paid.' } };

  const order = await place('ama@example.com');
  expect((await send(`/orders/${order}`)).body).toEqual({ message: 'Your order is not paid yet.' });
  const presses = await Promise.all([1, 2].map(() => send(`/orders/${order}/pay`, BY_PHONE)));
  expect(presses).toEqual([SENT, SENT]);
  const another = { ...BY_PHONE, phone: '0201234567' };
  expect((await send(`/orders/${order}/pay`, another)).body.message).toBe('A payment is open already.');
  const prompt = await sandbox.findPrompt();
  await sandbox.approve(prompt);
  expect(await sandbox.hasPrompt()).toBe(false);
  expect((await send('/webhooks/payments', `paid=${prompt}`)).status).toBe(204);
  await vi.waitFor(async () => expect(await send(`/orders/${order}`)).toEqual(PAID), { interval: 200 });
  expect(await send(`/orders/${order}/pay`, BY_PHONE)).toEqual(PAID);

  expect((await send(`/orders/${order}/pay`, 'no JSON')).status).toBe(415);
  expect((await send('/orders/another/pay', BY_PHONE)).status).toBe(404);
  const mistyped = await place('ama');
  expect(await send(`/orders/${mistyped}/pay`, BY_PHONE)).toEqual({
    status: 422,
    body: { message: 'Please correct: customer_email.' },
  });
  const refused = await place('ama@example.com');
  await refuseNext(sandbox.url);
  expect(await send(`/orders/${refused}/pay`, BY_PHONE)).toEqual({
    status: 422,
    body: { message: 'The payment was refused. Please check your number, or pay in another way.' },
  });
  await sandbox.loseResponse();
  const lost = await place('ama@example.com');
  expect((await send(`/orders/${lost}/pay`, BY_PHONE)).status).toBe(202);
  await find(readOutput, /ALERT: order (\S+) needs a person: unresolved/);

  expect(await stop()).toEqual([0, null]);
  expect(readOutput().match(/deliver order/g)).toHaveLength(1);
  expect(await countPaid()).toBe(1);
});

test('shows no error of the service to the customer', async () => {
  const { send } = await startShop({ PAYMENTS_API_KEY: 'another-live-key' });
  const { id } = (await send('/orders', { email: 'ama@example.com' })).body;
  expect(await send(`/orders/${id}/pay`, { phone: '0244123456', network: 'mtn' })).toEqual({
    status: 503,
    body: { message: 'We could not start the payment. Please try again in a few minutes.' },
  });
});

test('charges in the route of Next.js and Hono', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const mock = createMockPayments();
  vi.stubEnv('PAYMENTS_BASE_URL', mock.baseUrl);
  vi.stubEnv('PAYMENTS_API_KEY', mock.apiKey);
  vi.stubEnv('DATABASE_URL', postgres.url);
  const server = setupServer(
    ...mock.handlers,
    http.all('*', () => HttpResponse.error()),
  );
  server.listen();
  onTestFinished(async () => {
    server.close();
    vi.unstubAllEnvs();
    const shop: { pool: Pool } | undefined = Reflect.get(globalThis, 'shop');
    if (shop) await closePool(shop.pool);
    Reflect.deleteProperty(globalThis, 'shop');
  });
  const block = blocks.find(({ heading }) => heading.startsWith('Use Hono'));
  if (!block) throw new Error('The page has no block for Hono.');
  const printed = await runBlock(block, { blocks });
  expect(findFalseComments(block, printed)).toEqual([]);
  expect(printed.map(({ text }) => text)).toEqual(['200', '422']);
  expect(mock.charges).toHaveLength(1);
});

/** Starts the shop of the page on PostgreSQL, and its sandbox. */
async function startShop(variables: Record<string, string> = {}) {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const database = new Client({ connectionString: postgres.url });
  await database.connect();
  onTestFinished(() => database.end());
  await database.query(sql);

  const folder = await createFolder();
  const sandbox = await startSandboxCommand();
  const env = { DATABASE_URL: postgres.url, PORT: '0', ...variables };
  const [, baseUrl = '', apiKey = ''] =
    /PAYMENTS_BASE_URL=(\S+) PAYMENTS_API_KEY=(\S+)/.exec(sandbox.line) ?? [];
  const { child, output, ended } = start(process.execPath, ['server.ts'], folder, {
    PAYMENTS_BASE_URL: baseUrl,
    PAYMENTS_API_KEY: apiKey,
    ...env,
  });
  const readOutput = () => output.text;
  const url = await find(readOutput, /(http:\/\/\S+:\d+)/);
  return {
    sandbox,
    readOutput,
    /** Sends JSON, or a text as what a form sends, and returns the response. */
    async send(path: string, given?: object | string) {
      const isText = typeof given === 'string';
      const type = isText ? 'application/x-www-form-urlencoded' : 'application/json';
      const response = await fetch(url + path, {
        ...(given && { method: 'POST', headers: { 'content-type': type } }),
        ...(given && { body: isText ? given : JSON.stringify(given) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
    },
    async countPaid(): Promise<number> {
      const { rows } = await database.query('SELECT id FROM orders WHERE paid_at IS NOT NULL');
      return rows.length;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Lets the sandbox refuse the next charge. */
async function refuseNext(sandboxUrl: string): Promise<void> {
  const { status } = await fetch(`${sandboxUrl}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'chargeMobileMoney', fault: { kind: 'status', status: 422 } }),
  });
  expect(status).toBe(201);
}

/** Creates the folder of the shop on Fastify, with its files and the packages that it needs. */
async function createFolder(): Promise<string> {
  const packages = ['fastify', '@prisma'].map(
    (name) => [name, fileURLToPath(new URL(`node_modules/${name}`, import.meta.url))] as const,
  );
  const folder = await createMerchantProject(...packages);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of ['payments.ts', 'server.ts', 'lib/explain-order.ts']) {
    const block = blocks.find((candidate) => fileNameOf(candidate) === name);
    await mkdir(join(folder, dirname(name)), { recursive: true });
    await writeFile(join(folder, name), block?.code ?? '');
  }
  return folder;
}
