import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import pg from 'pg';
import { PaymentsClient } from '../../src/index.ts';
import { type LedgerRecord, parseLedgerRecord } from '../../src/ledger/record.ts';
import { createJournal, memoryStore } from '../../src/stores/index.ts';
import { postgresJournal } from '../../src/stores/postgres/index.ts';
import { createRedisStore } from '../../src/stores/redis/store.ts';
import { buildSchema } from '../../src/stores/sqlite/table.ts';
import { printProgress } from './progress.ts';
import { polling } from './schedule.ts';
import type { StoreAddress } from './stores.ts';

/** Open payments: the first `due` of them are due now, and the others later. */
export interface OpenPayments {
  count: number;
  due: number;
  /** How many of the others become due in each second. @default none for half an hour */
  duePerSecond?: number | undefined;
  baseUrl: string;
}

interface SeedRecord {
  key: string;
  version: string;
  text: string;
  createdAt: number;
  dueIn: number;
}

/** So many are written at once. */
const BATCH = 2_000;
/** The payments are spread over the time from their charge until the deadline, in milliseconds. */
const SPREAD = 600_000;
const LATER = 30 * 60 * 1000;

/** Writes open payments as the client records them, but many at once. */
export async function seedPayments(store: StoreAddress, payments: OpenPayments): Promise<void> {
  printProgress(`${store.kind}: ${payments.count} payments`);
  const records = createRecords(await readTemplate(payments.baseUrl), payments);
  await SEEDERS[store.kind](store, records);
}

/** Charges once through the client, and returns the record. */
async function readTemplate(baseUrl: string): Promise<LedgerRecord> {
  const store = memoryStore();
  const data = { reference: 'TXN-TEMPLATE', status: 'processing', amount: '25.50', currency: 'GHS' };
  using payments = new PaymentsClient({
    apiKey: 'sk_test_bench',
    baseUrl,
    journal: createJournal(store),
    fetch: async () => Response.json({ status: true, message: 'A prompt has been sent.', data }),
    polling,
  });
  const customer = { customer_email: 'ama@example.com', phone: '024 412 3456' };
  const charge = { amount: '25.50', network: 'mtn', ...customer } as const;
  await payments.chargeMobileMoney(charge, { idempotencyKey: 'template' });
  const { record } = await store.read('key template');
  const parsed = parseLedgerRecord(JSON.parse(record?.text ?? 'null'));
  if (!parsed) throw new Error('The journal has no record of the charge.');
  return parsed;
}

function* createRecords(
  template: LedgerRecord,
  { count, due, duePerSecond }: OpenPayments,
): Generator<SeedRecord[]> {
  const now = Date.now();
  const [payment] = template.payments;
  if (payment?.charge.is !== 'made') throw new Error('The charge was not made.');
  const { result } = payment.charge;
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    yield Array.from({ length: size }, (_, index): SeedRecord => {
      const number = first + index;
      const reference = `TXN-${String(number).padStart(8, '0')}`;
      const createdAt = Math.round(now - (SPREAD * number) / count);
      const later = duePerSecond ? ((number - due) * 1_000) / duePerSecond : LATER + (LATER * number) / count;
      const dueIn = number < due ? 0 : Math.round(later);
      const charge = { is: 'made', result: { ...result, reference } } as const;
      const payments = [{ ...payment, createdAt, charge, pace: { nextAt: now + dueIn, slow: 0 } }];
      const text = JSON.stringify({ ...template, payments });
      return { key: `key order-${number}`, version: crypto.randomUUID(), text, createdAt, dueIn };
    });
  }
}

type Seeder = (store: StoreAddress, batches: Iterable<SeedRecord[]>) => Promise<void>;

const seedSqlite: Seeder = async ({ url, name }, batches) => {
  using database = new DatabaseSync(url);
  for (const statement of buildSchema(name)) database.exec(statement);
  const insert = database.prepare(
    `INSERT INTO "${name}" (key, version, record, kind, created_at, due_at) VALUES (?, ?, ?, 'key', ?, ?)`,
  );
  database.exec('BEGIN');
  for (const batch of batches) {
    const now = Date.now();
    for (const { key, version, text, createdAt, dueIn } of batch)
      insert.run(key, version, text, createdAt, now + dueIn);
  }
  database.exec('COMMIT');
};

const seedPostgres: Seeder = async ({ url, name }, batches) => {
  const pool = new pg.Pool({ connectionString: url });
  await postgresJournal(pool, { table: name }).migrate();
  const insert = `INSERT INTO "${name}" (key, version, record, kind, created_at, due_at)
    SELECT key, version, record::json, 'key', created_at, due_in + floor(extract(epoch FROM clock_timestamp()) * 1000)
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
      AS seed (key, version, record, due_in, created_at)`;
  for (const batch of batches) {
    const column = (field: keyof SeedRecord) => batch.map((record) => record[field]);
    const columns = (['key', 'version', 'text', 'dueIn', 'createdAt'] as const).map(column);
    await pool.query(insert, columns);
  }
  // As the server does by itself after a while.
  await pool.query(`VACUUM ANALYZE "${name}"`);
  await pool.end();
};

const seedRedis: Seeder = async ({ url, name }, batches) => {
  const redis = new Redis(url);
  const store = createRedisStore((command, ...args) => redis.call(command, ...args), `${name}:`);
  for (const batch of batches) {
    const now = Date.now();
    const writes = batch.map(({ key, version, text, createdAt, dueIn }) => {
      const index = { kind: 'key', createdAt, attentionAt: null, dueAt: now + dueIn } as const;
      return store.write(key, { expected: null, version, text, mustCommit: true, index });
    });
    await Promise.all(writes);
  }
  redis.disconnect();
};

const SEEDERS = { sqlite: seedSqlite, postgres: seedPostgres, redis: seedRedis } as const;
