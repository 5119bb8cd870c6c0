import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { Pool } from 'pg';
import type { NewOrder, OrderState } from '../../shop/orders.ts';
import { LambdaService } from './lambda-service.ts';

/** A schedule in milliseconds. AWS waits for whole seconds. */
export const checksEverySecond = {
  beforeDeadline: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 1_000, timeout: 60_000 },
  afterDeadline: { minDelay: 1_000, maxDelay: 1_000, timeout: 120_000 },
};

/** The first check comes after the test has ended. Only a notification can bring it forward. */
export const slowChecks = {
  beforeDeadline: { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 },
  afterDeadline: checksEverySecond.afterDeadline,
};

let orderNumber = 0;

/** A shop with the service, its database, and the workflow on the local runner. */
export class AwsShop {
  readonly sandbox: Sandbox;
  readonly lambda: LambdaService;
  readonly #pool: Pool;

  private constructor(sandbox: Sandbox, lambda: LambdaService, pool: Pool) {
    this.sandbox = sandbox;
    this.lambda = lambda;
    this.#pool = pool;
  }

  static async open(databaseUrl: string, schedule: object = checksEverySecond): Promise<AwsShop> {
    const sandbox = await startSandbox();
    const lambda = await LambdaService.start({
      DATABASE_URL: databaseUrl,
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '3000',
      JOURNAL_LEASE: '1500',
      CHECK_SCHEDULE: JSON.stringify(schedule),
    });
    const pool = new Pool({ connectionString: databaseUrl });
    pool.on('error', () => {});
    await lambda.run('migrate.ts');
    return new AwsShop(sandbox, lambda, pool);
  }

  /** Places an order by a command, as a shop's web server does. Returns its id. */
  async place(): Promise<string> {
    const order = newOrder();
    await this.lambda.run('place-order.ts', JSON.stringify(order));
    return order.id;
  }

  /** Runs an order by the command that needs no AWS. Returns its id, and when it has ended. */
  runLocally(): { id: string; ended: Promise<void> } {
    const order = newOrder();
    return { id: order.id, ended: this.lambda.run('local.ts', JSON.stringify(order)) };
  }

  /** Stores an order as a request does that is interrupted before it submits the order. */
  async store(): Promise<string> {
    const { id, amount, currency, customer_email, phone, network } = newOrder();
    await this.#pool.query(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, amount, currency, customer_email, phone, network],
    );
    return id;
  }

  /** Submits an order that was stored, once more. */
  submit(id: string): Promise<void> {
    return this.lambda.run('place-order.ts', JSON.stringify({ ...newOrder(), id }));
  }

  notify(reference: string): Promise<void> {
    return this.lambda.run('payment-webhook.ts', reference);
  }

  async readState(id: string): Promise<OrderState> {
    const { rows } = await this.#pool.query('SELECT state FROM orders WHERE id = $1', [id]);
    return rows[0]?.state;
  }

  async reaches(id: string, ...states: OrderState[]): Promise<void> {
    await until(async () => states.includes(await this.readState(id)), `${id} to be ${states.join(' or ')}`);
  }

  async countParcels(id: string): Promise<number> {
    return (await this.#pool.query('SELECT 1 FROM parcels WHERE order_id = $1', [id])).rows.length;
  }

  /** Returns when the order was placed and charged, its reference, its phone number and so on. */
  async readOrder(id: string): Promise<Readonly<Record<string, unknown>>> {
    const { rows } = await this.#pool.query('SELECT * FROM orders WHERE id = $1', [id]);
    return rows[0];
  }

  async query(sql: string): Promise<void> {
    await this.#pool.query(sql);
  }

  /**
   * Keeps the function from changing an order: a process that is killed meanwhile has charged, and has not changed it.
   * Returns how to end that. Statements that wait for it are then never run.
   */
  async lockOrder(id: string): Promise<() => Promise<void>> {
    const client = await this.#pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [id]);
    const waiting = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return async () => {
      await this.#pool.query(`SELECT pg_terminate_backend(pid) ${waiting}`);
      await until(
        async () => (await this.#pool.query(`SELECT 1 ${waiting}`)).rows.length === 0,
        'the end of what waits',
      );
      await client.query('ROLLBACK');
      client.release();
    };
  }

  /** Waits until the journal has the result of a charge. */
  async waitUntilRecorded(key: string): Promise<void> {
    await until(async () => {
      const { rows } = await this.#pool.query('SELECT state FROM payments_journal WHERE key = $1', [key]);
      return rows[0]?.state === 'completed';
    }, `the result of ${key}`);
  }

  /** Counts the requests for a transaction. */
  verifies(): number {
    return this.sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  }

  /** Counts the requests that charge. */
  attempts(): number {
    return this.sandbox.requests.filter(({ method }) => method === 'POST').length;
  }

  async close(): Promise<void> {
    await this.lambda.close();
    await this.#pool.end();
    await this.sandbox.close();
  }
}

function newOrder(): NewOrder {
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

/** Waits until a condition holds, or fails after 60 s. */
export async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const startedAt = Date.now();
  while (!(await isDone())) {
    if (Date.now() - startedAt > 60_000) throw new Error(`Waited 60 s for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
