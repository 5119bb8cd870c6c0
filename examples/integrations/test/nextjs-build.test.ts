import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Browser, readLocation, readOrderId } from './browser.ts';

const integrations = join(import.meta.dirname, '..');
const command = join(integrations, 'node_modules/next/dist/bin/next');

describe.each([
  { name: 'unchanged', addition: '' },
  { name: 'with every fetch cached', addition: "export const fetchCache = 'force-cache';\n" },
])('The Next.js checkout, built and started $name', ({ addition }) => {
  let folder: string;
  let sandbox: Sandbox;
  let server: ChildProcess | undefined;
  let url: string;

  beforeAll(async () => {
    folder = copyFolder(join(integrations, 'nextjs'));
    for (const path of ['checkout/route.ts', 'checkout/return/route.ts', 'webhooks/payments/route.ts'])
      appendFileSync(join(folder, 'app/api', path), addition);
    await build(folder);
    sandbox = await startSandbox();
    server = next(['start', folder, '--port', '0', '--hostname', '127.0.0.1'], {
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.testKey,
    });
    url = await readUrl(server);
  });

  afterAll(async () => {
    if (server && server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    }
    await sandbox?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives each customer another payment, and its current status', async () => {
    const customers = [new Browser(url), new Browser(url)];
    for (const customer of customers) {
      const order = readOrderId(await customer.get('/'));
      const gone = await customer.post('/api/checkout', { order, customer_email: 'ama@example.com' });
      expect(gone.status).toBe(303);
      expect(readLocation(gone)).toBe(`${sandbox.url}/checkout/${sandbox.transactions.at(-1)?.reference}`);
      const open = await customer.get('/api/checkout/return?status=success');
      expect(open.text).toContain('Not paid yet');
    }
    expect(sandbox.transactions).toMatchObject([
      { amount: '25.50', currency: 'GHS', status: 'pending' },
      { amount: '25.50', currency: 'GHS', status: 'pending' },
    ]);
    const { reference = '' } = sandbox.transactions[1] ?? {};
    sandbox.approve(reference);
    const path = `/api/checkout/return?reference=${reference}`;
    await vi.waitFor(
      async () => {
        const pages = await Promise.all(customers.map((customer) => customer.get(path)));
        const titles = pages.map(({ text }) => /<h1>(.*)<\/h1>/.exec(text)?.[1]);
        expect(titles).toEqual(['Not paid yet', 'Paid']);
      },
      { timeout: 30_000 },
    );
  });

  it('accepts the webhooks of the sandbox, and believes none', async () => {
    const customer = new Browser(url);
    const order = readOrderId(await customer.get('/'));
    await customer.post('/api/checkout', { order, customer_email: 'ama@example.com' });
    const { reference = '' } = sandbox.transactions.at(-1) ?? {};
    sandbox.webhooks.deliverTo(`${url}/api/webhooks/payments`);
    sandbox.webhooks.send(reference, { status: 'success' });
    await sandbox.webhooks.flush();
    expect((await customer.get('/api/checkout/return')).text).toContain('Not paid yet');
    sandbox.approve(reference);
    await sandbox.webhooks.flush();
    expect(sandbox.webhooks.deliveries).toMatchObject([
      { fault: 'forged', state: 'delivered', attempts: [{ status: 204 }] },
      { fault: null, state: 'delivered', attempts: [{ status: 204 }] },
    ]);
    await vi.waitFor(
      async () => expect((await customer.get('/api/checkout/return')).text).toContain('<h1>Paid</h1>'),
      { timeout: 30_000 },
    );
  });
});

/** Copies the example to the same depth, so that its imports work, without the output of an earlier build. */
function copyFolder(folder: string): string {
  const copy = mkdtempSync(join(integrations, '.nextjs-'));
  cpSync(folder, copy, { recursive: true, filter: (path) => !/\/\.next$|\/next-env\.d\.ts$/.test(path) });
  return copy;
}

/** Builds without an API key, as a build server does. */
async function build(folder: string): Promise<void> {
  const child = next(['build', folder], { PAYMENTS_API_KEY: undefined, PAYMENTS_BASE_URL: undefined });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`next build ended with ${code}:\n${output}`);
}

function next(args: string[], env: Record<string, string | undefined>): ChildProcess {
  const all = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' as const, ...env };
  return spawn(process.execPath, [command, ...args], { env: all, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function readUrl(server: ChildProcess): Promise<string> {
  const found = Promise.withResolvers<string>();
  server.once('exit', (code) => found.reject(new Error(`next start ended with ${code}.`)));
  server.stderr?.resume();
  if (server.stdout) {
    createInterface({ input: server.stdout }).on('line', (line) => {
      const [address] = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(line) ?? [];
      if (address !== undefined) found.resolve(address);
    });
  }
  return found.promise;
}
