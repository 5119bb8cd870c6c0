import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NewOrder, Order, OrderState } from '../../../examples/workflows/shop/order.ts';
import { Orders } from '../../../examples/workflows/shop/orders.ts';
import { JournalError, PaymentsClient } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';

/** A schedule in milliseconds, with a deadline that no slow machine reaches. */
export const fastChecks = {
  beforeDeadline: { initialDelay: 300, minDelay: 300, maxDelay: 1_000, timeout: 600_000 },
  afterDeadline: { minDelay: 500, maxDelay: 500, timeout: 1_200_000 },
};

/** As often, and with a deadline for which a test can wait. */
export const fastDeadline = {
  ...fastChecks,
  beforeDeadline: { ...fastChecks.beforeDeadline, timeout: 6_000 },
};

/** The first check comes after the test has ended. Only a notification can bring it forward. */
export const slowChecks = {
  beforeDeadline: { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 },
  afterDeadline: fastChecks.afterDeadline,
};

/** For a response that comes slowly, and on a machine that is very busy more so: the request does not end before. */
export const patient = { PAYMENTS_TIMEOUT: '60000' };

/** What the tests call the states of an order's payment. A paid order is placed until `onPaid` has shipped it. */
const STATES = { unpaid: 'placed', processing: 'waiting', in_review: 'in_review', paid: 'placed' } as const;

let orderNumber = 0;

interface Spawning {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: ['ignore', 'pipe', 'inherit'];
}

/** A shop that runs one example: with the service, the engine, the orders, and workers that a test can kill. */
export class Shop {
  readonly orders: Orders;
  readonly ordersFile: string;
  readonly journalFile: string;
  readonly #example: WorkflowExample;
  readonly #engine: RunningEngine;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #customers = new Set<ChildProcess>();
  readonly #otherWorkers: ChildProcess[] = [];
  #sandbox: Sandbox;
  #worker: ChildProcess | undefined;

  private constructor(
    example: WorkflowExample,
    engine: RunningEngine,
    sandbox: Sandbox,
    { folder, schedule, env }: { folder: string; schedule: object; env: NodeJS.ProcessEnv },
  ) {
    this.#example = example;
    this.#engine = engine;
    this.#folder = folder;
    this.#sandbox = sandbox;
    this.ordersFile = join(folder, 'orders.db');
    this.journalFile = join(folder, 'journal.db');
    this.orders = new Orders(this.ordersFile);
    this.#env = {
      ...process.env,
      ...engine.env,
      ORDERS_FILE: this.ordersFile,
      JOURNAL_FILE: this.journalFile,
      JOURNAL_LEASE: '1500',
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '3000',
      CHECK_SCHEDULE: JSON.stringify(schedule),
      ...env,
    };
  }

  static async open(
    example: WorkflowExample,
    schedule: object = fastChecks,
    env: NodeJS.ProcessEnv = {},
  ): Promise<Shop> {
    const folder = mkdtempSync(join(tmpdir(), 'payments-workflow-'));
    const engine = await example.start(folder);
    return new Shop(example, engine, await startSandbox(), { folder, schedule, env });
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  /** Stops the service: its connections are refused. It starts again empty, at the same address. */
  async stopService(): Promise<{ startService(): Promise<void> }> {
    const port = Number(new URL(this.#sandbox.baseUrl).port);
    await this.#sandbox.close();
    return {
      startService: async () => {
        this.#sandbox = await startSandbox({ port });
      },
    };
  }

  /** Starts a worker. `folder` can be another release of the example. */
  async startWorker(folder = this.#example.folder): Promise<void> {
    this.#worker = this.#spawnWorker(this.#spawning(folder));
    await waitUntilReady(this.#worker);
  }

  /** Starts one more worker, which runs until the test ends. Returns its process, for a test that freezes it. */
  async startAnotherWorker(env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
    const options = this.#spawning();
    const worker = this.#spawnWorker({ ...options, env: { ...options.env, ...env } });
    this.#otherWorkers.push(worker);
    await waitUntilReady(worker);
    return worker;
  }

  /** Kills the worker, as a crash or the out-of-memory killer does: none of its code runs any more. */
  async killWorker(): Promise<void> {
    await this.#endWorker('SIGKILL');
  }

  /** Asks the worker to end, as a deployment does. Returns its exit code. */
  stopWorker(): Promise<unknown> {
    return this.#endWorker('SIGTERM');
  }

  /** Places an order. Its customer presses the button again if no response comes: the test does not wait for it. */
  async place(changes: Partial<NewOrder> = {}): Promise<string> {
    const order = newOrder(changes);
    const script = ['../shop/place-order.ts', JSON.stringify(order)];
    const customer = spawn(process.execPath, script, this.#spawning());
    this.#customers.add(customer);
    customer.once('exit', () => this.#customers.delete(customer));
    customer.stdout.resume();
    await until(() => this.orders.find(order.id) !== undefined, `${order.id} to be stored`);
    return order.id;
  }

  async notify(reference: string): Promise<void> {
    const child = spawn(process.execPath, ['../shop/payment-webhook.ts', reference], this.#spawning());
    child.stdout.resume();
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`The webhook exited with ${code}.`);
  }

  /** Reads an order. How far its payment is stands in the journal, until the shop has shipped or released it. */
  async order(id: string): Promise<Order> {
    const order = this.orders.get(id);
    const status = await this.#readStatus(id);
    // Until the service has named the transaction, nothing waits for the customer.
    if (status.state === 'processing' && !status.payment.reference) return order;
    const { state, payments } = status;
    const { reference = null, createdAt = null } = payments.at(-1) ?? {};
    const known = order.state === 'placed' ? STATES[state] : order.state;
    return { ...order, reference, charged_at: createdAt, state: known };
  }

  async #readStatus(id: string) {
    const { baseUrl, liveKey: apiKey } = this.sandbox;
    const { journal, close } = this.#engine.openJournal();
    const payments = new PaymentsClient({ baseUrl, apiKey, journal });
    try {
      const { read } = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
      for (;;) {
        const status = await read(id).catch((error: unknown) => {
          // Another process creates the file, or recovers it after a kill.
          if (!(error instanceof JournalError && error.retryable)) throw error;
        });
        if (status) return status;
        await sleep(100);
      }
    } finally {
      payments.close();
      close();
    }
  }

  /** Waits for a state. Returns the order with its reference. */
  async reaches(id: string, ...states: OrderState[]): Promise<Order & { reference: string }> {
    let order = await this.order(id);
    await until(
      async () => {
        order = await this.order(id);
        return states.includes(order.state);
      },
      `${id} to be ${states.join(' or ')}`,
    );
    return { ...order, reference: order.reference ?? '' };
  }

  /** Counts the requests for a transaction. */
  verifies(): number {
    return this.sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#customers, ...this.#otherWorkers].map((child) => kill(child, 'SIGKILL')));
    await this.killWorker();
    this.orders.close();
    await this.sandbox.close();
    await this.#engine.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #endWorker(signal: NodeJS.Signals): Promise<unknown> {
    const worker = this.#worker;
    this.#worker = undefined;
    return worker && kill(worker, signal);
  }

  #spawnWorker(options: Spawning): ChildProcess {
    return spawn(process.execPath, ['server.ts'], options);
  }

  #spawning(folder = this.#example.folder): Spawning {
    const cwd = resolve('examples/workflows', folder);
    return { cwd, env: this.#env, stdio: ['ignore', 'pipe', 'inherit'] };
  }
}

export function newOrder(changes: Partial<NewOrder> = {}): NewOrder {
  orderNumber++;
  return {
    id: `order-${orderNumber}`,
    amount: '25.50',
    currency: 'GHS',
    customer_email: `ama${orderNumber}@example.com`,
    phone: `024412${String(orderNumber).padStart(4, '0')}`,
    network: 'mtn',
    ...changes,
  };
}

/** Ends a process by a signal, and returns its exit code. */
async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const gone = once(child, 'exit');
  child.kill(signal);
  const [code] = await gone;
  return code;
}

/** A worker prints `ready` once it takes work. */
async function waitUntilReady(worker: ChildProcess): Promise<void> {
  const ready = Promise.withResolvers<void>();
  worker.once('exit', (code) =>
    ready.reject(new Error(`The worker exited with ${code} before it was ready.`)),
  );
  if (worker.stdout) {
    createInterface({ input: worker.stdout }).on('line', (line) => {
      if (line === 'ready') ready.resolve();
    });
  }
  await ready.promise;
}

/** Waits until a condition holds, or fails after 90 s. */
export async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const startedAt = Date.now();
  while (!(await isDone())) {
    if (Date.now() - startedAt > 90_000) throw new Error(`Waited 90 s for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
