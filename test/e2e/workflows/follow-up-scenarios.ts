import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { PaymentsClient } from '../../../src/index.ts';
import { type PostgresJournal, postgresJournal } from '../../../src/journal/postgres.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';

/** An example that charges in a web request, and sweeps in a job of its own, on PostgreSQL. */
export interface FollowUpExample {
  readonly name: string;
  /** What the example calls the states of an order. */
  readonly states: Readonly<Record<'waiting' | 'paid' | 'notPaid' | 'inReview', string>>;
  /** Starts the example, with its tables. `env` has what its processes need, `DATABASE_URL` too. */
  start(env: Readonly<Record<string, string>>): Promise<FollowUpProcesses>;
}

/** The processes of an example, for a test that kills them. */
export interface FollowUpProcesses {
  /** Stores an order of 25.50 GHS, and returns its id. */
  place(): Promise<string>;
  /** The customer presses the button. */
  pay(id: string): Promise<{ status: number; text: string }>;
  /** The service's webhook comes. */
  notify(reference: string): Promise<void>;
  /** Runs one sweep, as cron does. It resolves once it has ended, also if it failed or was killed. */
  sweep(): Promise<void>;
  /** Starts the web process, if it does not run. */
  startWeb(): Promise<void>;
  killWeb(): Promise<void>;
  killSweep(): Promise<void>;
  stop(): Promise<void>;
}

const fastChecks = { initialDelay: 200, minDelay: 200, maxDelay: 200, timeout: 600_000 };
const slowChecks = { initialDelay: 900_000, minDelay: 900_000, maxDelay: 900_000, timeout: 9_000_000 };

/** Defines the tests that each of these examples passes. */
export function describeFollowUps(example: FollowUpExample): void {
  const { states } = example;

  describe(example.name, () => {
    let server: DatabaseServer;
    let databases = 0;
    let sandbox: Sandbox;
    let pool: Pool;
    let journal: PostgresJournal;
    let shop: FollowUpProcesses;
    const locks: TableLock[] = [];

    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    beforeEach(async () => {
      databases++;
      const admin = new Pool({ connectionString: server.url, max: 1 });
      await admin.query(`CREATE DATABASE shop_${databases}`);
      await closePool(admin);
      sandbox = await startSandbox();
      pool = new Pool({ connectionString: server.url.replace(/postgres$/, `shop_${databases}`) });
      journal = postgresJournal(pool, { lease: LEASE });
    });
    afterEach(async () => {
      for (const lock of locks.splice(0)) await lock.release();
      await shop.stop();
      await closePool(pool);
      await sandbox.close();
    });

    const open = async (schedule: object = fastChecks) => {
      shop = await example.start({
        DATABASE_URL: server.url.replace(/postgres$/, `shop_${databases}`),
        PAYMENTS_BASE_URL: sandbox.baseUrl,
        PAYMENTS_API_KEY: sandbox.liveKey,
        PAYMENTS_TIMEOUT: '5000',
        JOURNAL_LEASE: String(LEASE),
        CHECK_SCHEDULE: JSON.stringify({ beforeDeadline: schedule }),
      });
    };
    /** How far the payment is stands in the journal, until the shop has shipped or released the order. */
    const stateOf = async (id: string): Promise<unknown> => {
      const { rows } = await pool.query('SELECT state FROM orders WHERE id = $1', [id]);
      if (rows[0]?.state !== 'placed') return rows[0]?.state;
      const reader = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
      const orders = createOrderPayments({ payments: reader, journal, onPaid() {}, onAttention() {} });
      const { state } = await orders.read(id);
      reader.close();
      return state;
    };
    const countParcels = async (id: string) => {
      const { rows } = await pool.query('SELECT 1 FROM parcels WHERE order_id = $1', [id]);
      return rows.length;
    };
    const countVerifies = () => sandbox.requests.filter(({ operation }) => operation === 'verify').length;
    const referenceOf = (charge = 0) => sandbox.charges[charge]?.reference ?? '';
    const placeAndPay = async () => {
      const id = await shop.place();
      expect((await shop.pay(id)).status).toBeLessThan(400);
      expect(await stateOf(id)).toBe(states.waiting);
      return id;
    };
    const sweepUntil = (isDone: () => Promise<boolean>, what: string) =>
      until(async () => {
        await shop.sweep();
        return isDone();
      }, what);
    const sweepUntilState = (id: string, state: string) =>
      sweepUntil(async () => (await stateOf(id)) === state, `${id} to be ${state}`);
    const expectOneParcel = async (id: string) => {
      expect(await countParcels(id)).toBe(1);
      expect(sandbox.charges).toHaveLength(1);
    };
    /** Lets the time pass after which a record of a killed sweep is due again. */
    const expireSweepLeases = () =>
      pool.query('UPDATE payments_journal SET due_at = clock_timestamp() WHERE due_at IS NOT NULL');

    /** Keeps other processes from writing to a table, as a migration does. They can still read. */
    const lockWrites = async (table: string): Promise<TableLock> => {
      const lock = new TableLock(pool, await pool.connect(), table);
      locks.push(lock);
      await lock.acquire();
      return lock;
    };

    test('fulfils an order that the customer approves after the response', async () => {
      await open();
      const id = await placeAndPay();
      sandbox.approve(referenceOf());
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
    });

    test('ends an order after a declined payment', async () => {
      await open();
      const id = await placeAndPay();
      sandbox.decline(referenceOf());
      await sweepUntilState(id, states.notPaid);
      expect(await countParcels(id)).toBe(0);
    });

    test('checks each payment once if two sweeps run at the same time', async () => {
      await open();
      const ids = [];
      for (let orders = 0; orders < 6; orders++) {
        ids.push(await placeAndPay());
        sandbox.approve(referenceOf(orders));
      }
      await waitUntilDue(pool, ids.length);
      await Promise.all([shop.sweep(), shop.sweep()]);
      expect(await Promise.all(ids.map(stateOf))).toEqual(ids.map(() => states.paid));
      expect(countVerifies()).toBe(6);
    });

    test('checks a payment early after a notification', async () => {
      await open(slowChecks);
      const id = await placeAndPay();
      sandbox.approve(referenceOf());
      await shop.sweep();
      expect(countVerifies()).toBe(0);
      await shop.notify(referenceOf());
      await sweepUntilState(id, states.paid);
      expect(countVerifies()).toBe(1);
    });

    test('never charges again after a kill during the charge', async () => {
      await open();
      sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
      const id = await shop.place();
      const payment = shop.pay(id).catch(() => undefined);
      await until(async () => sandbox.charges.length === 1, 'the charge');
      await shop.killWeb();
      await payment;
      await sweepUntilState(id, states.inReview);
      await shop.startWeb();
      const again = await shop.pay(id);
      expect(again.status).toBe(202);
      expect(again.text).toContain('not pay again');
      expect(sandbox.charges).toHaveLength(1);
      expect(await countParcels(id)).toBe(0);
    });

    test('charges again once a person has found no charge', async () => {
      await open();
      sandbox.fault('chargeMobileMoney', { kind: 'reset' });
      const id = await shop.place();
      expect((await shop.pay(id)).status).toBe(202);
      await sweepUntilState(id, states.inReview);
      expect((await shop.pay(id)).status).toBe(202);
      await journal.resolve(`${id}/1`, 'not_charged', {
        by: 'kofi@shop.example',
        reason: 'no charge in the records',
      });
      await shop.sweep();
      expect((await shop.pay(id)).status).toBeLessThan(400);
      expect(await stateOf(id)).toBe(states.waiting);
      sandbox.approve(referenceOf());
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
    });

    test('ends an order after a kill right after the charge is recorded', async () => {
      await open();
      const id = await shop.place();
      const payment = shop.pay(id).catch(() => undefined);
      const isRecorded = async () => (await journal.read(`${id}/1`))?.state === 'completed';
      await until(isRecorded, 'the recorded charge');
      await shop.killWeb();
      await payment;
      sandbox.approve(referenceOf());
      await shop.startWeb();
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
    });

    test('continues after a kill of a sweep during a check', async () => {
      await open();
      const id = await placeAndPay();
      sandbox.fault('verify', { kind: 'hang' });
      await waitUntilDue(pool);
      const sweep = shop.sweep();
      await until(async () => countVerifies() === 1, 'the check');
      await shop.killSweep();
      await sweep;
      await shop.startWeb();
      sandbox.approve(referenceOf());
      await expireSweepLeases();
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
      expect(countVerifies()).toBe(2);
    });

    test('ends an order after a kill of a sweep before onFinal has changed it', async () => {
      await open();
      const id = await placeAndPay();
      sandbox.approve(referenceOf());
      await waitUntilDue(pool);
      const lock = await lockWrites('orders');
      const sweep = shop.sweep();
      await lock.isWaitedFor();
      await shop.killSweep();
      await sweep;
      await lock.release({ cancelWaiting: true });
      await shop.startWeb();
      expect(await countParcels(id)).toBe(0);
      await expireSweepLeases();
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
      // The final status was recorded, so nothing is asked again.
      expect(countVerifies()).toBe(1);
    });

    test('ships once after a kill of a sweep before onFinal is recorded', async () => {
      await open();
      const id = await placeAndPay();
      sandbox.approve(referenceOf());
      await waitUntilDue(pool);
      const orders = await lockWrites('orders');
      const sweep = shop.sweep();
      await orders.isWaitedFor();
      const records = await lockWrites('payments_journal');
      await orders.release();
      await until(async () => (await stateOf(id)) === states.paid, 'onFinal');
      await records.isWaitedFor();
      await shop.killSweep();
      await sweep;
      await records.release({ cancelWaiting: true });
      await shop.startWeb();
      expect((await journal.read(`${id}/1`))?.followUp?.ended).toBeUndefined();
      await expireSweepLeases();
      const isDelivered = async () => (await journal.read(`${id}/1`))?.followUp?.ended === 'delivered';
      await sweepUntil(isDelivered, 'another onFinal');
      await expectOneParcel(id);
    });

    test('ends an order in review once a person has resolved its key', async () => {
      await open();
      sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
      const id = await shop.place();
      const response = await shop.pay(id);
      expect(response.status).toBe(202);
      expect(response.text).not.toMatch(/OutcomeUnknown|idempotency|ECONN|TXN-/);
      await sweepUntilState(id, states.inReview);
      sandbox.approve(referenceOf());
      const { baseUrl, liveKey: apiKey } = sandbox;
      const payments = new PaymentsClient({ baseUrl, apiKey, journal });
      onTestFinished(() => payments.close());
      const note = { by: 'kofi@shop.example', reason: 'found by its request id' };
      await payments.resolve(`${id}/1`, { reference: referenceOf() }, note);
      await sweepUntilState(id, states.paid);
      await expectOneParcel(id);
    });
  });
}

/** How long a claim of a charge lasts in the tests, in milliseconds. */
const LEASE = 1_500;

class TableLock {
  readonly #pool: Pool;
  readonly #client: PoolClient;
  readonly #table: string;
  #isHeld = true;

  constructor(pool: Pool, client: PoolClient, table: string) {
    this.#pool = pool;
    this.#client = client;
    this.#table = table;
  }

  async acquire(): Promise<void> {
    await this.#client.query(`BEGIN; LOCK TABLE ${this.#table} IN EXCLUSIVE MODE`);
  }

  async isWaitedFor(): Promise<void> {
    await until(async () => (await this.#listWaiting()).length > 0, `a write to ${this.#table}`);
  }

  /**
   * `cancelWaiting`: the statements that wait for it are never run. Without it, PostgreSQL runs also those of a process that
   * was killed.
   */
  async release({ cancelWaiting = false } = {}): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (cancelWaiting) {
      for (const pid of await this.#listWaiting())
        await this.#pool.query('SELECT pg_terminate_backend($1)', [pid]);
      await until(async () => (await this.#listWaiting()).length === 0, 'the end of what waits');
    }
    await this.#client.query('ROLLBACK');
    this.#client.release();
  }

  async #listWaiting(): Promise<number[]> {
    const { rows } = await this.#pool.query(
      `SELECT pid FROM pg_locks WHERE relation = $1::regclass AND NOT granted`,
      [this.#table],
    );
    return rows.map(({ pid }) => Number(pid));
  }
}

/** Waits until so many payments are due for a check. */
async function waitUntilDue(pool: Pool, payments = 1): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query('SELECT 1 FROM payments_journal WHERE due_at <= clock_timestamp()');
    return rows.length >= payments;
  }, 'payments that are due');
}

/** Waits until a condition holds, or fails after 60 s. */
async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  const startedAt = Date.now();
  while (!(await isDone())) {
    if (Date.now() - startedAt > 60_000) throw new Error(`Waited 60 s for ${what}.`);
    await sleep(20);
  }
}
