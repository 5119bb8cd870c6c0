import { DelayedError, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createFollowUps } from '../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { nextDelay } from '../../src/schedule.ts';
import { polling } from './schedule.ts';
import { openStore, type StoreAddress } from './stores.ts';

/** How one process follows payments, and where they are. */
export interface WayAddress {
  way: 'follow-ups' | 'by-hand' | 'bullmq' | 'checks-alone';
  store: StoreAddress;
  baseUrl: string;
}

/** Follows payments until `signal` is aborted. */
type Follow = (signal: AbortSignal) => Promise<unknown>;

type Open = (address: WayAddress) => Promise<Follow>;

/** What all of them do with a final payment: nothing. */
const onFinal = () => {};

const createClient = ({ baseUrl }: WayAddress) =>
  new PaymentsClient({ apiKey: 'sk_test_bench', baseUrl, polling });

type Expected = Record<'reference' | 'amount' | 'currency', string>;

/** Checks a payment, and its amount, as follow-ups do. */
async function checkPayment(payments: PaymentsClient, { reference, amount, currency }: Expected) {
  const checked = await payments.check(reference);
  const { transaction } = checked;
  if (transaction.amount !== amount || transaction.currency !== currency) throw new Error('Another amount.');
  return checked;
}

const openFollowUps: Open = async ({ store, baseUrl }) => {
  const { journal } = await openStore(store);
  const payments = new PaymentsClient({ apiKey: 'sk_test_bench', baseUrl, polling, journal });
  const followUps = createFollowUps({ payments, journal, onFinal, onAttention() {} });
  return (signal) => followUps.run({ signal });
};

/** Pages, and loops that each have one in a transaction: together as many checks as the client makes at once. */
const PAGE = 16;
const LOOPS = polling.maxConcurrency / PAGE;

const openByHand: Open = async (address) => {
  const { url, name } = address.store;
  const payments = createClient(address);
  const pool = new pg.Pool({ connectionString: url });
  const claim = `SELECT reference, amount, currency, created_at FROM "${name}"
    WHERE due_at <= now() ORDER BY due_at LIMIT ${PAGE} FOR UPDATE SKIP LOCKED`;
  const update = `UPDATE "${name}" AS payment SET status = checked.status, due_at = now() + checked.delay * interval '1 ms'
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS checked (reference, status, delay)
    WHERE payment.reference = checked.reference`;

  const check = async ({ reference, amount, currency, created_at }: pg.QueryResultRow) => {
    const { status, final } = await checkPayment(payments, { reference, amount, currency });
    if (final) onFinal();
    return { reference, status, delay: final ? null : getDelay(Number(created_at)) };
  };
  const checkPage = async (client: pg.PoolClient) => {
    await client.query('BEGIN');
    const { rows } = await client.query(claim);
    const checked = await Promise.all(rows.map(check));
    const column = (field: keyof (typeof checked)[number]) => checked.map((row) => row[field]);
    await client.query(update, [column('reference'), column('status'), column('delay')]);
    await client.query('COMMIT');
  };
  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const client = await pool.connect();
      await checkPage(client);
      client.release();
    }
  };
  return (signal) => Promise.all(Array.from({ length: LOOPS }, () => loop(signal)));
};

function getDelay(createdAt: number): number | null {
  return nextDelay({ ...polling, elapsed: Date.now() - createdAt, random: Math.random() });
}

/** Fills the table of the loop by hand with payments that are due. */
export async function seedByHand({ url, name }: StoreAddress, count: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: url });
  await pool.query(`CREATE TABLE "${name}" (reference text PRIMARY KEY, order_key text NOT NULL, status text NOT NULL,
    amount text NOT NULL, currency text NOT NULL, created_at float8 NOT NULL, due_at timestamptz)`);
  await pool.query(`CREATE INDEX ON "${name}" (due_at) WHERE due_at IS NOT NULL`);
  await pool.query(
    `INSERT INTO "${name}" SELECT 'TXN-' || lpad(number::text, 8, '0'), 'order-' || number, 'pending', '25.50', 'GHS', $1, now()
    FROM generate_series(0, $2::int - 1) AS number`,
    [Date.now(), count],
  );
  await pool.query(`VACUUM ANALYZE "${name}"`);
  await pool.end();
}

const openBullmq: Open = async (address) => {
  const { url, name } = address.store;
  const payments = createClient(address);
  const worker = new Worker(
    name,
    async (job, token) => {
      const { reference, amount, currency, createdAt } = job.data;
      const { final } = await checkPayment(payments, { reference, amount, currency });
      if (final) return onFinal();
      await job.moveToDelayed(Date.now() + (getDelay(createdAt) ?? 0), token);
      throw new DelayedError();
    },
    {
      connection: new Redis(url, { maxRetriesPerRequest: null }),
      concurrency: polling.maxConcurrency,
      removeOnComplete: { count: 0 },
      autorun: false,
    },
  );
  await worker.waitUntilReady();
  return async (signal) => {
    const ended = worker.run();
    signal.addEventListener('abort', () => worker.close(), { once: true });
    await ended;
  };
};

/** Adds a delayed job for each payment. Once this resolves, all are due. */
export async function seedBullmq({ url, name }: StoreAddress, count: number): Promise<void> {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection });
  const batch = 2_000;
  for (let first = 0; first < count; first += batch) {
    const size = Math.min(batch, count - first);
    const jobs = Array.from({ length: size }, (_, index) => {
      const reference = `TXN-${String(first + index).padStart(8, '0')}`;
      const data = { reference, amount: '25.50', currency: 'GHS', createdAt: Date.now() };
      return { name: 'check', data, opts: { delay: 1, jobId: reference } };
    });
    await queue.addBulk(jobs);
  }
  await queue.close();
  connection.disconnect();
}

/** The checks, without anything that keeps the payments: what the other ways cannot do without. */
const openChecksAlone: Open = async (address) => {
  const payments = createClient(address);
  let next = 0;
  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const reference = `TXN-${String(next++).padStart(8, '0')}`;
      const { final } = await checkPayment(payments, { reference, amount: '25.50', currency: 'GHS' });
      if (final) onFinal();
    }
  };
  return (signal) => Promise.all(Array.from({ length: polling.maxConcurrency }, () => loop(signal)));
};

export const WAYS = {
  'follow-ups': openFollowUps,
  'by-hand': openByHand,
  bullmq: openBullmq,
  'checks-alone': openChecksAlone,
} as const satisfies Record<WayAddress['way'], Open>;
