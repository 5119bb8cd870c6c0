import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NewOrder, Order, OrderState } from '../../../examples/workflows/shop/order.ts';
import { Orders } from '../../../examples/workflows/shop/orders.ts';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { JournalError, PaymentsClient } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import type { Journal } from '../../../src/stores/index.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { limitPatience } from '../../helpers/patience.ts';
import { ExampleProcess } from './child-process.ts';

/** One order workflow of examples/workflows, for the scenarios. */
export interface WorkflowExample {
  /** The title, such as `BullMQ on Redis`. */
  readonly name: string;
  /** The folder in examples/workflows. Its `server.ts` charges in the request of the customer, and follows each payment. */
  readonly folder: string;
  /** Starts what the engine needs, on loopback and with its files in `folder`. */
  start(folder: string): Promise<RunningEngine>;
}

export interface RunningEngine {
  /** The variables that its commands need, besides those that every example gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens the journal of the shop's payments. */
  openJournal(): { journal: Journal; close(): void };
  stop(): Promise<void>;
}

/** A schedule in milliseconds, with a deadline that no slow machine reaches. */
const fastChecks = {
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

/** What the tests call the states of an order's payment. A paid order is placed until `onPaid` has shipped it. */
const STATES = { unpaid: 'placed', processing: 'waiting', in_review: 'in_review', paid: 'placed' } as const;

let orderNumber = 0;

/** A shop that runs one example: with the service, the engine, the orders, and workers that a test can kill. */
export class Shop {
  readonly orders: Orders;
  readonly sandbox: Sandbox;
  readonly #example: WorkflowExample;
  readonly #engine: RunningEngine;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #processes: ExampleProcess[] = [];
  #worker: ExampleProcess | undefined;

  private constructor(
    example: WorkflowExample,
    engine: RunningEngine,
    sandbox: Sandbox,
    { folder, schedule, env }: { folder: string; schedule: object; env: NodeJS.ProcessEnv },
  ) {
    this.#example = example;
    this.#engine = engine;
    this.#folder = folder;
    this.sandbox = sandbox;
    const ordersFile = join(folder, 'orders.db');
    this.orders = new Orders(ordersFile);
    this.#env = {
      ...process.env,
      ...engine.env,
      ORDERS_FILE: ordersFile,
      JOURNAL_FILE: join(folder, 'journal.db'),
      JOURNAL_LEASE: '5000',
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      // A charge that a busy machine does not answer in time would go to a person.
      PAYMENTS_TIMEOUT: '20000',
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
    const SHOP_URL = await findFreeUrl();
    const shop = new Shop(example, engine, await startSandbox(), {
      folder,
      schedule,
      env: { SHOP_URL, ...env },
    });
    await shop.startWorker();
    return shop;
  }

  async startWorker(): Promise<void> {
    this.#worker = this.#spawn('server.ts');
    await this.#worker.waitForLine((line) => line === 'ready');
  }

  /** Starts one more worker, which runs until the test ends. */
  async startAnotherWorker(): Promise<void> {
    const worker = this.#spawn('server.ts', [], { SHOP_URL: await findFreeUrl() });
    await worker.waitForLine((line) => line === 'ready');
  }

  /**
   * Ends the worker, and returns its exit code: by default as a crash or the out-of-memory killer does, and by `SIGTERM` as
   * a deployment does.
   */
  async endWorker(signal: NodeJS.Signals = 'SIGKILL'): Promise<unknown> {
    const worker = this.#worker;
    this.#worker = undefined;
    return worker?.kill(signal);
  }

  /** Places an order. Its customer presses the button again if no response comes: the test does not wait for it. */
  async place(order = newOrder()): Promise<string> {
    this.#spawn('../shop/place-order.ts', [JSON.stringify(order)]);
    await until(() => this.orders.find(order.id) !== undefined, `${order.id} to be stored`);
    return order.id;
  }

  async notify(reference: string): Promise<void> {
    const code = await this.#spawn('../shop/payment-webhook.ts', [reference]).ended;
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
    await Promise.all(this.#processes.map((child) => child.kill()));
    this.orders.close();
    await this.sandbox.close();
    await this.#engine.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #spawn(script: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): ExampleProcess {
    const cwd = resolve('examples/workflows', this.#example.folder);
    const child = new ExampleProcess(process.execPath, [script, ...args], {
      cwd,
      env: { ...this.#env, ...env },
    });
    this.#processes.push(child);
    return child;
  }
}

const findFreeUrl = async () => `http://127.0.0.1:${await findFreePort()}`;

export function newOrder(): NewOrder {
  orderNumber++;
  return {
    id: `order-${orderNumber}`,
    amount: '25.50',
    currency: 'GHS',
    customer_email: `ama${orderNumber}@example.com`,
    phone: `024412${String(orderNumber).padStart(4, '0')}`,
    network: 'mtn',
  };
}

/** Waits until a condition holds. */
export async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const assertPatience = limitPatience(what);
  while (!(await isDone())) {
    assertPatience();
    await sleep(20);
  }
}
