import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSandbox } from 'payment-collection-client/sandbox';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isChromiumMissing, launchBrowser, openPage } from '../../../test/e2e/browser/chromium.ts';
import {
  describeFollowUps,
  type FollowUpProcesses,
} from '../../../test/e2e/workflows/follow-up-scenarios.ts';
import { findFreePort, startPostgres } from '../../../test/helpers/databases.ts';
import { Browser, readOrderId } from './browser.ts';

const integrations = join(import.meta.dirname, '..');
const command = join(integrations, 'node_modules/next/dist/bin/next');
const CRON_SECRET = 'cron-secret-of-the-tests';

let folder: string;

beforeAll(async () => {
  // At the same depth, so that its imports work, and without the output of an earlier build.
  folder = mkdtempSync(join(integrations, '.nextjs-'));
  const isOwnFile = (path: string) => !/\/\.next$|\/next-env\.d\.ts$/.test(path);
  cpSync(join(integrations, 'nextjs-cron'), folder, { recursive: true, filter: isOwnFile });
  await build();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One process, as on a machine of one's own: on Vercel, each route is a function. */
class NextProcess implements FollowUpProcesses {
  readonly url: string;
  readonly #env: Readonly<Record<string, string>>;
  #server: ChildProcess | undefined;
  #starting: Promise<void> | undefined;

  private constructor(env: Readonly<Record<string, string>>, port: number) {
    this.#env = { ...env, CRON_SECRET, PORT: String(port) };
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(env: Readonly<Record<string, string>>): Promise<NextProcess> {
    const shop = new NextProcess(env, await findFreePort());
    const migration = spawn(process.execPath, [join(folder, 'migrate.ts')], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(migration, 'exit');
    if (code !== 0) throw new Error(`migrate.ts exited with ${code}.`);
    await shop.startWeb();
    return shop;
  }

  async place(): Promise<string> {
    return readOrderId(await new Browser(this.url).get('/'));
  }

  async pay(order: string): Promise<{ status: number; text: string }> {
    const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };
    return await new Browser(this.url).post('/api/charge', { order, ...customer });
  }

  async notify(reference: string): Promise<void> {
    const body = JSON.stringify({ reference });
    const { status } = await fetch(`${this.url}/api/webhook`, { method: 'POST', body });
    expect(status).toBe(202);
  }

  async sweep(): Promise<void> {
    await this.startWeb();
    await this.callCron().catch(() => {});
  }

  callCron(secret = CRON_SECRET): Promise<Response> {
    return fetch(`${this.url}/api/cron`, { headers: { authorization: `Bearer ${secret}` } });
  }

  startWeb(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    this.#server = next(['start', folder, '--hostname', '127.0.0.1'], this.#env);
    await waitUntilReady(this.#server);
  }

  async killWeb(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#starting = undefined;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  }

  killSweep(): Promise<void> {
    return this.killWeb();
  }

  stop(): Promise<void> {
    return this.killWeb();
  }
}

describeFollowUps({
  name: 'Next.js with a route for cron',
  states: { waiting: 'paying', paid: 'paid', notPaid: 'not_paid', inReview: 'in_review' },
  start: (env) => NextProcess.start(env),
});

/** The first check comes after the requests of a test, and soon enough for a browser to see it. */
const CHECKS = { initialDelay: 3_000, minDelay: 1_000, maxDelay: 1_000, timeout: 600_000 };

async function open() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const database = await startPostgres();
  onTestFinished(() => database.stop());
  const shop = await NextProcess.start({
    DATABASE_URL: database.url,
    PAYMENTS_BASE_URL: sandbox.baseUrl,
    PAYMENTS_API_KEY: sandbox.liveKey,
    CHECK_SCHEDULE: JSON.stringify({ beforeDeadline: CHECKS }),
  });
  onTestFinished(() => shop.stop());
  return { sandbox, shop };
}

describe('The routes of the Next.js example', () => {
  it('sweep with the secret only, and read the state from the database', async () => {
    const { sandbox, shop } = await open();
    const id = await shop.place();
    await shop.pay(id);
    const sent = sandbox.requests.length;
    expect((await shop.callCron('another')).status).toBe(401);
    const status = await fetch(`${shop.url}/api/orders/${id}`);
    expect(await status.json()).toMatchObject({ state: 'paying' });
    expect((await fetch(`${shop.url}/orders/${id}`)).status).toBe(200);
    expect((await fetch(`${shop.url}/api/orders/17`)).status).toBe(404);
    expect(sandbox.requests).toHaveLength(sent);
    expect(await (await shop.callCron()).json()).toMatchObject({ checked: 0, due: 0 });
  });

  it('let a customer correct the number, under the same key', async () => {
    const { sandbox, shop } = await open();
    const id = await shop.place();
    sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 });
    const refused = await shop.pay(id);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('The payment was rejected');
    expect((await shop.pay(id)).status).toBe(303);
    expect(sandbox.charges).toHaveLength(1);
  });
});

describe.skipIf(isChromiumMissing)('The pages of the Next.js example in Chromium', () => {
  it('shows the customer that the order is paid once cron has found it', async () => {
    const { sandbox, shop } = await open();
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const { page } = await openPage(browser);
    await page.goto(shop.url);
    await page.getByLabel('Email').fill('ama@example.com');
    await page.getByLabel('Mobile Money number').fill('0244123456');
    await page.getByLabel('Network').selectOption('telecel');
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('Approve the payment on your phone').waitFor();
    sandbox.approve(sandbox.charges[0]?.reference ?? '');
    let found = 0;
    while (found === 0) found = Object(await (await shop.callCron()).json()).final;
    await page.getByText('Your order is paid').waitFor();
    expect(sandbox.charges).toMatchObject([{ amount: '25.50', network: 'telecel' }]);
  });
});

/** Builds without an API key and a database, as a build server does. */
async function build(): Promise<void> {
  const names = ['PAYMENTS_API_KEY', 'PAYMENTS_BASE_URL', 'DATABASE_URL', 'CRON_SECRET'];
  const child = next(['build', folder], Object.fromEntries(names.map((name) => [name, undefined])));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`next build ended with ${code}:\n${output}`);
}

function next(args: string[], env: Readonly<Record<string, string | undefined>>): ChildProcess {
  const all = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...env, NODE_ENV: 'production' as const };
  return spawn(process.execPath, [command, ...args], { env: all, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function waitUntilReady(server: ChildProcess): Promise<void> {
  const ready = Promise.withResolvers<void>();
  server.once('exit', (code) => ready.reject(new Error(`next start ended with ${code}.`)));
  server.stderr?.resume();
  if (server.stdout) {
    createInterface({ input: server.stdout }).on('line', (line) => {
      if (/Ready/.test(line)) ready.resolve();
    });
  }
  await ready.promise;
}
