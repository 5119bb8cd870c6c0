import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type NewOrder,
  type Order,
  type OrderState,
  Orders,
} from '../../../examples/workflows/shop/orders.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';

/** Quick looks: the tests cannot wait for ten minutes. In milliseconds. */
export const quickLooks = {
  soon: { initialDelay: 300, minDelay: 300, maxDelay: 1_000, timeout: 6_000 },
  late: { minDelay: 500, maxDelay: 500, timeout: 120_000 },
};

/** The first look comes after any test has ended: only a hint can bring it forward. */
export const slowLooks = {
  soon: { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 },
  late: quickLooks.late,
};

let orderNumber = 0;

/** A shop that runs one example: the service, the engine, the orders, and workers that can be killed. */
export class Shop {
  readonly orders: Orders;
  readonly #example: WorkflowExample;
  readonly #engine: RunningEngine;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #sandbox: Sandbox;
  #worker: ChildProcess | undefined;

  private constructor(
    example: WorkflowExample,
    engine: RunningEngine,
    sandbox: Sandbox,
    { folder, looks }: { folder: string; looks: object },
  ) {
    this.#example = example;
    this.#engine = engine;
    this.#folder = folder;
    this.#sandbox = sandbox;
    const ordersFile = join(folder, 'orders.db');
    this.orders = new Orders(ordersFile);
    this.#env = {
      ...process.env,
      ...engine.env,
      ORDERS_FILE: ordersFile,
      JOURNAL_FILE: join(folder, 'journal.db'),
      JOURNAL_LEASE: '1500',
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '3000',
      LOOKS: JSON.stringify(looks),
    };
  }

  static async open(example: WorkflowExample, looks: object = quickLooks): Promise<Shop> {
    const folder = mkdtempSync(join(tmpdir(), 'payments-workflow-'));
    const engine = await example.start(folder);
    return new Shop(example, engine, await startSandbox(), { folder, looks });
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  /** Connections to the service are refused until it is back, at the same address and with nothing in it. */
  async serviceGone(): Promise<{ serviceBack(): Promise<void> }> {
    const port = Number(new URL(this.#sandbox.baseUrl).port);
    await this.#sandbox.close();
    return {
      serviceBack: async () => {
        this.#sandbox = await startSandbox({ port });
      },
    };
  }

  /** `folder`: another release of the example, where it is not the example itself. */
  async startWorker(folder = this.#example.folder): Promise<void> {
    const worker = spawn(process.execPath, ['worker.ts'], this.#spawning(folder));
    this.#worker = worker;
    await readyLine(worker);
    await this.#engine.workerStarted?.();
  }

  /** As a crash or the machine's memory killer would: no code of the worker runs any more. */
  async killWorker(): Promise<void> {
    await this.#endWorker('SIGKILL');
  }

  /** As a deploy would: the worker is asked to end, and does so in its own time. Gives its exit code. */
  stopWorker(): Promise<unknown> {
    return this.#endWorker('SIGTERM');
  }

  /** The shop's own web server would do it: here a command, so that nothing of the worker takes part. */
  async place(changes: Partial<NewOrder> = {}): Promise<string> {
    const order = newOrder(changes);
    await this.#run('place-order.ts', JSON.stringify(order));
    return order.id;
  }

  hint(reference: string): Promise<void> {
    return this.#run('payment-hint.ts', reference);
  }

  order(id: string): Order {
    return this.orders.get(id);
  }

  /** Waits for a state, and gives the order with its reference. */
  async reaches(id: string, ...states: OrderState[]): Promise<Order & { reference: string }> {
    await until(() => states.includes(this.order(id).state), `${id} to be ${states.join(' or ')}`);
    const order = this.order(id);
    return { ...order, reference: order.reference ?? '' };
  }

  /** How often the service was asked for a transaction. */
  verifies(): number {
    return this.sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  }

  rows(): Promise<number> {
    return this.#engine.rows();
  }

  async close(): Promise<void> {
    await this.killWorker();
    this.orders.close();
    await this.sandbox.close();
    await this.#engine.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #endWorker(signal: NodeJS.Signals): Promise<unknown> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker || worker.exitCode !== null || worker.signalCode !== null) return worker?.exitCode;
    const gone = once(worker, 'exit');
    worker.kill(signal);
    const [code] = await gone;
    return code;
  }

  #spawning(folder = this.#example.folder) {
    const cwd = resolve('examples/workflows', folder);
    return { cwd, env: this.#env, stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] };
  }

  async #run(script: string, argument: string): Promise<void> {
    const child = spawn(process.execPath, [script, argument], this.#spawning());
    child.stdout.resume();
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${script} ended with ${code}.`);
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

/** A worker prints `ready` once it takes work. */
async function readyLine(worker: ChildProcess): Promise<void> {
  const ready = Promise.withResolvers<void>();
  worker.once('exit', (code) =>
    ready.reject(new Error(`The worker ended with ${code} before it was ready.`)),
  );
  if (worker.stdout) {
    createInterface({ input: worker.stdout }).on('line', (line) => {
      if (line === 'ready') ready.resolve();
    });
  }
  await ready.promise;
}

/** Waits until it is so. The test's own time limit ends it. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const since = Date.now();
  while (!(await isSo())) {
    if (Date.now() - since > 90_000) throw new Error(`Waited in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
