import { Client, Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresQuery,
  postgresJournal,
} from '../../../src/journal/postgres.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const database = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: database.url });
  await postgresJournal(fromQuery((text, values) => pool.query(text, values))).migrate();
});

// A journal belongs to one service, and each test has a service of its own.
beforeEach(async () => {
  await pool.query('DELETE FROM payments_journal');
});

afterAll(() => pool?.end());

async function connect(options: object = {}): Promise<Client> {
  const client = new Client({ connectionString: database.url, ...options });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const STRICT = { options: '-c default_transaction_isolation=repeatable\\ read' };

/** Counts the requests. */
const counting = () =>
  startService((response) => {
    const reference = `TXN-${crypto.randomUUID()}`;
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference }));
  });

const isMark = (text: string) => text.includes('set_config') && text.startsWith('SELECT');
const isStatus = (text: string) => text.includes('txid_status');

const refused = {
  name: 'JournalError',
  outcome: 'not_sent',
  retryable: true,
  message: expect.stringContaining('inside a transaction'),
};

const unproven = {
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining('does not confirm that the record is committed'),
};

describe('fromQuery conforms', () => {
  const cases = journalConformance(async (options, table) => {
    const handle = fromQuery(async (text, values) => (await pool.query(text, values)).rows);
    const journal = postgresJournal(handle, { ...options, table });
    await journal.migrate();
    return journal;
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('inside a transaction', () => {
  test('refuses to charge, and writes nothing into it', async () => {
    const client = await connect();
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    const service = await counting();
    const payments = service.client({ journal });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await client.query('BEGIN');
    for (const idempotencyKey of ['order-1', 'order-2']) {
      const again = { ...charge, ...(idempotencyKey === 'order-1' ? { amount: '7.00' } : {}) };
      expect(await catchError(payments.chargeMobileMoney(again, { idempotencyKey }))).toMatchObject(refused);
    }
    const { rows } = await client.query('SELECT txid_current_if_assigned() AS txid');
    expect(rows).toEqual([{ txid: null }]);
    await client.query('COMMIT');
    expect(service.requests).toHaveLength(1);
    expect(await journal.read('order-2')).toBeNull();
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' });
    expect(service.requests).toHaveLength(2);
  });

  test('refuses to charge after a savepoint, and inside a failed one', async () => {
    const client = await connect();
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    const claim = await claimKey(journal, 'order-1');
    await client.query('BEGIN');
    await client.query('SAVEPOINT here');
    expect(await catchError(getJournalCore(journal).claim('order-2', chargeIntent))).toMatchObject(refused);
    await catchError(client.query('SELECT 1 / 0'));
    expect(await catchError(getJournalCore(journal).renew(claim))).toMatchObject(refused);
    expect(await catchError(getJournalCore(journal).claim('order-2', chargeIntent))).toMatchObject({
      ...refused,
    });
    await client.query('ROLLBACK');
    expect(await journal.read('order-2')).toBeNull();
  });

  test('claims no follow-ups', async () => {
    const client = await connect();
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    const claimDue = () => claimDueKeys(journal, { limit: 10, lease: 10_000 });
    await client.query('BEGIN');
    expect(await catchError(claimDue())).toMatchObject(refused);
    await client.query('ROLLBACK');
    await getJournalCore(journal).complete(await claimKey(journal, 'order-1'), { state: 'unknown' });
    await client.query('BEGIN');
    expect(await catchError(claimDue())).toMatchObject(refused);
    await client.query('COMMIT');
    expect(await claimDue()).toEqual(['order-1']);
  });

  test.each(['ROLLBACK', 'COMMIT'])('sends nothing if it begins before the write: %s', async (ending) => {
    const client = await connect();
    let begins = false;
    const query: PostgresQuery = async (text, values) => {
      const result = await client.query(text, values);
      if (begins && isMark(text)) await client.query('BEGIN');
      return result;
    };
    const journal = postgresJournal(fromQuery(query));
    const service = await counting();
    const payments = service.client({ journal });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    begins = true;
    const failure = catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' }));
    expect(await failure).toMatchObject(refused);
    begins = false;
    await client.query(ending);
    expect(service.requests).toHaveLength(1);
    const entry = await postgresJournal(pool).read('order-2');
    expect(entry?.state).toBe(ending === 'ROLLBACK' ? undefined : 'begun');
  });

  test('charges if it begins before the write and is committed before the check', async () => {
    const client = await connect();
    const query: PostgresQuery = async (text, values) => {
      const result = await client.query(text, values);
      if (isMark(text)) await client.query('BEGIN');
      else if (!isStatus(text)) await client.query('COMMIT');
      return result;
    };
    const service = await counting();
    const payments = service.client({ journal: postgresJournal(fromQuery(query)) });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(await postgresJournal(pool).read('order-1')).toMatchObject({ state: 'completed' });
  });

  test('sends nothing if it is rolled back before the check', async () => {
    const client = await connect();
    let isBroken = false;
    const query: PostgresQuery = async (text, values) => {
      if (isBroken && !isMark(text) && !isStatus(text)) {
        await client.query('BEGIN');
        const result = await client.query(text, values);
        await client.query('ROLLBACK');
        return result;
      }
      return client.query(text, values);
    };
    const journal = postgresJournal(fromQuery(query));
    await claimKey(journal, 'order-1');
    isBroken = true;
    expect(await catchError(getJournalCore(journal).claim('order-2', chargeIntent))).toMatchObject({
      ...unproven,
      message: expect.stringContaining('aborted'),
    });
    expect(await postgresJournal(pool).read('order-2')).toBeNull();
  });

  const eachRoute = [false, true].flatMap((mark) =>
    [false, true].flatMap((write) => [false, true].map((status) => ({ mark, write, status }))),
  );
  // A pool can run each statement on another connection. `true`: it is the one that was left inside a transaction.
  test.each(eachRoute)('charges only if the write is outside: $mark, $write, $status', async (route) => {
    const [healthy, forgotten] = [await connect(), await connect()];
    let isLeft = false;
    const isOnForgotten = (text: string) => {
      if (isMark(text)) return route.mark;
      return isStatus(text) ? route.status : !text.startsWith('SELECT') && route.write;
    };
    const query: PostgresQuery = (text, values) =>
      (isLeft && isOnForgotten(text) ? forgotten : healthy).query(text, values);
    const service = await counting();
    const payments = service.client({ journal: postgresJournal(fromQuery(query)) });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await forgotten.query('BEGIN');
    isLeft = true;
    const charging = payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' });
    if (route.write) expect(await catchError(charging)).toMatchObject(refused);
    else await charging;
    expect(service.requests).toHaveLength(route.write ? 1 : 2);
    const entry = await postgresJournal(pool).read('order-2');
    expect(entry?.state).toBe(route.write ? undefined : 'completed');
  });

  test('reads, lists and resolves as a part of it', async () => {
    const client = await connect();
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    await getJournalCore(journal).complete(await claimKey(journal, 'order-1'), { state: 'unknown' });

    await client.query('BEGIN');
    await journal.resolve('order-1', 'not_charged', note);
    expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged' });
    expect(await listKeys(journal, { state: 'not_charged' })).toEqual(['order-1']);
    expect(await postgresJournal(pool).read('order-1')).toMatchObject({ state: 'unknown' });
    await client.query('ROLLBACK');
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });

    await client.query('BEGIN');
    await journal.resolve('order-1', { reference: 'TXN-found' }, note);
    await client.query('COMMIT');
    expect(await postgresJournal(pool).read('order-1')).toMatchObject({ state: 'completed' });
  });

  test('leaves the error of a strict transaction that was overtaken', async () => {
    const client = await connect();
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    await getJournalCore(journal).complete(await claimKey(journal, 'order-1'), { state: 'unknown' });
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await journal.read('order-1');
    await pool.query("UPDATE payments_journal SET written_at = written_at WHERE key = 'order-1'");
    const failure = await catchError(journal.resolve('order-1', 'not_charged', note));
    expect(failure).toMatchObject({ name: 'JournalError', cause: { code: '40001' } });
    await client.query('ROLLBACK');
  });
});

describe('with a strict isolation level', () => {
  const overtake = async (act: (journal: ReturnType<typeof postgresJournal>) => Promise<unknown>) => {
    const client = await connect(STRICT);
    const journal = postgresJournal(fromQuery((text, values) => client.query(text, values)));
    await getJournalCore(journal).complete(await claimKey(journal, 'order-1'), { state: 'unknown' });
    await getJournalCore(journal).complete(await claimKey(journal, 'order-2'), { state: 'rejected' });
    const other = await connect();
    await other.query('BEGIN');
    await other.query('UPDATE payments_journal SET written_at = written_at');
    const acting = act(journal);
    const isBlocked = async () => {
      const { rows } = await pool.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      );
      expect(rows).toHaveLength(1);
    };
    await vi.waitFor(isBlocked);
    await other.query('COMMIT');
    return await acting;
  };

  test('claims a key after the database refused an overtaken write', async () => {
    expect(await overtake((journal) => getJournalCore(journal).claim('order-2', chargeIntent))).toMatchObject(
      {
        state: 'claimed',
      },
    );
  });

  test('resolves a key after the database refused an overtaken write', async () => {
    await overtake((journal) => journal.resolve('order-1', 'not_charged', note));
    expect(await postgresJournal(pool).read('order-1')).toMatchObject({ state: 'not_charged' });
  });
});

test('takes three statements for what must be committed, and one for the rest', async () => {
  let statements = 0;
  const query: PostgresQuery = (text, values) => {
    statements++;
    expect(values.every((value) => value === null || typeof value === 'string')).toBe(true);
    return pool.query(text, values);
  };
  // The service of the journal is read again each second.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = postgresJournal(fromQuery(query));
  await claimKey(journal, 'first');
  const count = async (step: () => Promise<unknown>) => {
    statements = 0;
    await step();
    return statements;
  };
  expect(await count(() => claimKey(journal, 'order-1'))).toBe(3);
  // Nothing was written, so nothing has to be committed: then the record is read.
  expect(await count(() => getJournalCore(journal).claim('order-1', chargeIntent))).toBe(3);
  expect(await count(() => journal.read('order-1'))).toBe(1);
  const claim = await claimKey(journal, 'order-2');
  expect(await count(() => getJournalCore(journal).complete(claim, { state: 'unknown' }))).toBe(3);
  expect(await count(() => journal.resolve('order-2', 'not_charged', note))).toBe(2);
});

test('believes only the server that wrote', async () => {
  const other = await startPostgres();
  const elsewhere = new Pool({ connectionString: other.url });
  onTestFinished(async () => {
    await closePool(elsewhere);
    await other.stop();
  });
  const client = await connect();
  let isRouted = false;
  const query: PostgresQuery = (text, values) =>
    (isRouted && text.startsWith('SELECT') ? elsewhere : client).query(text, values);
  const journal = postgresJournal(fromQuery(query));
  await claimKey(journal, 'order-1');
  const { rows } = await client.query('SELECT txid_current()::int AS txid');
  const wanted = Number(rows[0].txid) + 10;
  await elsewhere.query(`DO $$ BEGIN WHILE txid_current() < ${wanted} LOOP COMMIT; END LOOP; END $$`);
  await elsewhere.query('SELECT txid_current()');
  const claim = await claimKey(journal, 'order-2');
  isRouted = true;
  await client.query('BEGIN');
  expect(await catchError(getJournalCore(journal).renew(claim))).toMatchObject(unproven);
  await client.query('ROLLBACK');
});

test.each([
  ['Prisma', { $connect: () => {} }, {}],
  ['postgres.js', { begin: () => {} }, { savepoint: () => {} }],
])('knows the handle of a transaction by its methods: %s', async (driver, outside, inside) => {
  const statements: string[] = [];
  const run = async (text: string, values: (string | null)[]) => {
    statements.push(text);
    return (await pool.query(text, values)).rows;
  };
  const methods = {
    unsafe: (text: string, values: (string | null)[] = []) => run(text, values),
    $queryRawUnsafe: (text: string, ...values: (string | null)[]) => run(text, values),
    $executeRawUnsafe: (text: string) => run(text, []),
  };
  const open = (more: object) => {
    const client = { ...methods, ...more };
    return postgresJournal(driver === 'Prisma' ? fromPrisma(client) : fromPostgresJs(client));
  };
  await claimKey(open(outside), 'order-1');
  statements.length = 0;
  expect(await catchError(getJournalCore(open(inside)).claim('order-2', chargeIntent))).toMatchObject({
    ...refused,
    retryable: false,
  });
  // The service of the journal is read.
  expect(statements.filter((text) => !/^SELECT version/.test(text))).toEqual([]);
});

describe('a query that does not return the rows', () => {
  const rowsOf = async (text: string, values: (string | null)[]) => (await pool.query(text, values)).rows;
  const broken: [string, PostgresQuery][] = [
    ['undefined', async () => undefined],
    ['no row', async (text, values) => (isMark(text) ? rowsOf(text, values) : [])],
    ['rows as arrays', async (text, values) => (await rowsOf(text, values)).map((row) => Object.values(row))],
    ['numbers', async (text, values) => (await rowsOf(text, values)).map((row) => ({ ...row, txid: 7 }))],
    [
      'renamed columns',
      async (text, values) =>
        (await rowsOf(text, values)).map(({ txid, ...row }) => ({ ...row, transaction: txid ?? null })),
    ],
  ];

  test.each(broken)('sends nothing: %s', async (_what, query) => {
    const service = await counting();
    const payments = service.client({ journal: postgresJournal(fromQuery(query)) });
    const failure = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }));
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent' });
    expect(service.requests).toEqual([]);
  });
});

test('reads columns whose names a driver writes with a capital letter', async () => {
  const query: PostgresQuery = async (text, values) => {
    const { rows } = await pool.query(text, values);
    const capitalize = ([name, value]: [string, unknown]) => [
      `${name[0]?.toUpperCase()}${name.slice(1)}`,
      value,
    ];
    return rows.map((row) => Object.fromEntries(Object.entries<unknown>(row).map(capitalize)));
  };
  const journal = postgresJournal(fromQuery(query));
  await getJournalCore(journal).complete(await claimKey(journal, 'order-1'), { state: 'unknown' });
  expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
  expect(await getJournalCore(journal).followUps.countDue({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
  expect(await claimDueKeys(journal, { limit: 10, lease: 10_000 })).toEqual(['order-1']);
});

test.each([
  ['in code', (code: string) => ({ code })],
  ['in the cause', (code: string) => ({ cause: { code } })],
  [
    'of Prisma 7',
    (code: string) => ({ code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: code } } } }),
  ],
  ['of Prisma 6', (code: string) => ({ code: 'P2010', meta: { code } })],
])('names migrate if the table is missing, by the code %s', async (_where, fields) => {
  const query: PostgresQuery = (text, values) =>
    pool.query(text, values).catch((error: unknown) => {
      throw Object.assign(new Error('failed'), fields(Object(error).code));
    });
  const journal = postgresJournal(fromQuery(query), { table: 'missing' });
  expect(String(await catchError(journal.read('order-1')))).toContain('journal.migrate()');
});

describe('refuses', () => {
  const sql = Object.assign(() => {}, { unsafe: () => {}, begin: () => {} });
  const neon = Object.assign(() => {}, { unsafe: () => {}, query: () => {}, transaction: () => {} });
  test.each([
    ['postgres.js', sql, 'Use fromPostgresJs(sql).'],
    ['Prisma', { $queryRawUnsafe: () => {}, $executeRawUnsafe: () => {} }, 'Use fromPrisma(prisma).'],
    ['Drizzle', { query: {}, execute: () => {} }, 'Use fromQuery('],
    ['Kysely', { executeQuery: () => {} }, 'Use fromQuery('],
    ['PGlite', { query: () => {}, exec: () => {} }, 'Use fromQuery('],
    ['the HTTP client of Neon', neon, 'Use fromQuery('],
  ])('%s as it is, and names the function for it', (_what, client, instead) => {
    expect(() => Reflect.apply(postgresJournal, undefined, [client])).toThrow(instead);
  });

  test('what is not a driver', () => {
    for (const value of [undefined, null, {}, 'postgres://localhost']) {
      expect(() => Reflect.apply(fromPostgresJs, undefined, [value])).toThrow('fromPostgresJs takes');
      expect(() => Reflect.apply(fromPrisma, undefined, [value])).toThrow('fromPrisma takes');
      expect(() => Reflect.apply(fromQuery, undefined, [value])).toThrow('fromQuery takes');
    }
  });
});
