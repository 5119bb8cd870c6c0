import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { postgresJournal, postgresSchema } from '../../../src/journal/postgres.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: server.url });
  // The server can stop before the last connection is closed.
  pool.on('error', () => {});
  await postgresJournal(pool).migrate();
});

afterAll(async () => {
  await pool?.end();
});

function ownPool(options: object = {}): Pool {
  const own = new Pool({ connectionString: server.url, ...options });
  own.on('error', () => {});
  onTestFinished(() => own.end());
  return own;
}

async function ownClient(options: object = {}): Promise<Client> {
  const own = new Client({ connectionString: server.url, ...options });
  await own.connect();
  onTestFinished(() => own.end());
  return own;
}

const STRICT = { options: '-c default_transaction_isolation=repeatable\\ read' };

describe('postgresJournal through a Pool conforms', () => {
  const cases = journalConformance(async (options, table) => {
    const journal = postgresJournal(pool, { ...options, table });
    await journal.migrate();
    return journal;
  });
  test.each(cases)('$name', ({ run }) => run());
});

if (isExhaustive) {
  describe('postgresJournal through Clients conforms', () => {
    const cases = journalConformance(async (options, table) => {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      const journal = postgresJournal(client, { ...options, table });
      await journal.migrate();
      return { journal, close: () => client.end() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  describe('postgresJournal conforms with serializable transactions', () => {
    const strict = () => new Pool({ connectionString: server.url, ...STRICT });
    const cases = journalConformance(async (options, table) => {
      const own = strict();
      const journal = postgresJournal(own, { ...options, table });
      await journal.migrate();
      return { journal, close: () => own.end() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });
}

test.each([
  ['a Pool', async () => ownPool(STRICT)],
  ['a Client', () => ownClient(STRICT)],
])('claims a key through %s after the database refused an overtaken write', async (what, open) => {
  const journal = postgresJournal(await open());
  const key = `overtaken through ${what}`;
  await getJournalCore(journal).complete(await claimKey(journal, key), { state: 'rejected' });
  const other = await ownClient();
  await other.query('BEGIN');
  await other.query('UPDATE payments_journal SET written_at = written_at WHERE key = $1', [key]);
  const claiming = getJournalCore(journal).claim(key, chargeIntent);
  const isBlocked = async () => {
    const { rows } = await pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    expect(rows).toHaveLength(1);
  };
  await vi.waitFor(isBlocked);
  await other.query('COMMIT');
  expect(await claiming).toMatchObject({ state: 'claimed' });
});

describe('migrate', () => {
  test('can run many times, also concurrently', async () => {
    const own = ownPool({ max: 20 });
    const journals = Array.from({ length: 20 }, () => postgresJournal(own, { table: 'made_at_once' }));
    await Promise.all(journals.map((journal) => journal.migrate()));
    await Promise.all(journals.map((journal) => journal.migrate()));
    const { rows } = await own.query(
      "SELECT indexname FROM pg_indexes WHERE tablename = 'made_at_once' ORDER BY 1",
    );
    const indexes = ['due_at', 'pkey', 'reference', 'state'];
    expect(rows).toEqual(indexes.map((index) => ({ indexname: `made_at_once_${index}` })));
  });

  test('hides its own notices only', async () => {
    const client = await ownClient();
    const notices: unknown[] = [];
    client.on('notice', ({ message }) => notices.push(message));
    await client.query('BEGIN');
    await postgresJournal(client).migrate();
    await client.query("DO $$ BEGIN RAISE NOTICE 'of the merchant'; END $$");
    await client.query('COMMIT');
    expect(notices).toEqual(['of the merchant']);
  });

  test('keeps the records', async () => {
    const journal = postgresJournal(pool);
    await claimKey(journal, 'before migrate');
    await journal.migrate();
    expect(await journal.read('before migrate')).toMatchObject({ state: 'begun' });
  });

  test('throws the error of the database', async () => {
    const journal = postgresJournal(pool, { table: 'missing.journal' });
    expect(String(await catchError(journal.migrate()))).toContain('schema "missing" does not exist');
  });
});

test('uses the table of postgresSchema in a schema, with SQL words as names', async () => {
  await pool.query('CREATE SCHEMA IF NOT EXISTS "order"');
  await pool.query(postgresSchema('order.user'));
  await pool.query(postgresSchema('order.user'));
  const journal = postgresJournal(pool, { table: 'order.user' });
  await claimKey(journal, 'in its own table');
  expect(await postgresJournal(pool).read('in its own table')).toBeNull();
  const { rows } = await pool.query(`SELECT record ->> 'state' AS state FROM "order"."user"`);
  // The other record holds the service of the journal.
  expect(rows.map(({ state }) => state).sort()).toEqual(['begun', null]);
});

test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a"b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
  'refuses the table name %j',
  (table) => {
    const options: object = { table };
    expect(() => postgresJournal(pool, options)).toThrow('table must be a plain name in lower case');
    expect(() => Reflect.apply(postgresSchema, undefined, [table])).toThrow('table must be a plain name');
  },
);

test('refuses what is not a client', () => {
  for (const client of [undefined, null, {}, 'postgres://localhost']) {
    expect(() => Reflect.apply(postgresJournal, undefined, [client])).toThrow(
      'postgresJournal takes a Pool or a Client of pg.',
    );
  }
});

test('runs one statement for each step', async () => {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  let statements = 0;
  const counting = {
    query: (text: string, values?: unknown[]) => {
      statements++;
      return client.query(text, values);
    },
    getTransactionStatus: () => client.getTransactionStatus(),
  };
  // The other tests leave more records than one page of a list has.
  const journal = postgresJournal(counting, { table: 'counted_steps' });
  await journal.migrate();
  statements = 0;
  // The service of the journal is read again each second.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const taken = async (step: () => Promise<unknown>) => {
    statements = 0;
    await step();
    return statements;
  };
  await claimKey(journal, 'first');
  // The first one finds no record of the service that the journal belongs to, and makes it.
  expect(statements).toBe(3);
  statements = 0;
  const claim = await claimKey(journal, 'counted');
  expect(statements).toBe(1);
  expect(await taken(() => getJournalCore(journal).renew(claim))).toBe(1);
  const again = await claimKey(journal, 'counted too');
  expect(await taken(() => getJournalCore(journal).complete(again, { state: 'unknown' }))).toBe(1);
  expect(await taken(() => journal.read('counted'))).toBe(1);
  // A record that prevents the claim is read, and one that is resolved too.
  expect(await taken(() => getJournalCore(journal).claim('counted', chargeIntent))).toBe(2);
  expect(await taken(() => journal.resolve('counted too', 'not_charged', note))).toBe(2);
  expect(await taken(() => journal.count())).toBe(2);
  expect(await taken(() => getJournalCore(journal).followUps.countDue({ kind: 'key' }))).toBe(1);
  expect(
    await taken(() => getJournalCore(journal).followUps.claimDue({ kind: 'key', limit: 10, lease: 10_000 })),
  ).toBe(1);
  expect(await taken(() => listKeys(journal, { state: 'rejected' }))).toBe(1);
});

describe('prepared statements', () => {
  const claimTwice = async (client: Pool | Client) => {
    const journal = postgresJournal(client);
    for (const key of ['one', 'two']) await claimKey(journal, `${key} ${crypto.randomUUID()}`);
  };
  const listInserts = async (client: Pool | Client) => {
    const { rows } = await client.query(`SELECT generic_plans + custom_plans > 1 AS reused
      FROM pg_prepared_statements WHERE statement LIKE 'WITH written AS (%INSERT%'`);
    return rows;
  };

  test('are kept by a connection to the server', async () => {
    const own = ownPool({ max: 1 });
    await claimTwice(own);
    expect(await listInserts(own)).toEqual([{ reused: true }]);
  });

  test('are not needed once the server has dropped them', async () => {
    const own = ownPool({ max: 1 });
    await claimTwice(own);
    await own.query('DISCARD ALL');
    await claimTwice(own);
    expect(await listInserts(own)).toEqual([]);
  });

  test('are not made through a pooler', async () => {
    const own = await ownClient();
    // As with PgBouncer, which gives each of its clients a number that no process of the server has.
    await claimTwice(Object.assign(own, { processID: -1 }));
    expect(await listInserts(own)).toEqual([]);
  });
});

test('overrides synchronous_commit = off for its own writes only', async () => {
  const own = ownPool({ options: '-c synchronous_commit=off', max: 1 });
  const journal = postgresJournal(own, { table: 'watched' });
  await journal.migrate();
  await claimKey(journal, 'first');
  await own.query(`
    CREATE TABLE committed (how text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO committed SELECT current_setting('synchronous_commit'); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER noting AFTER INSERT OR UPDATE ON watched
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();`);
  const claim = await claimKey(journal, 'order-17');
  await getJournalCore(journal).complete(claim, { state: 'unknown' });
  await journal.resolve('order-17', { reference: 'TXN-found' }, note);
  await Promise.all(['order-18', 'order-19', 'order-20'].map((key) => claimKey(journal, key)));
  // The resolution is two: the reservation of the reference comes first.
  expect((await own.query('SELECT how FROM committed')).rows).toEqual(Array(7).fill({ how: 'on' }));
  expect((await own.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
});

test.each(['local', 'remote_write', 'on'])('keeps synchronous_commit = %s', async (setting) => {
  const own = ownPool({ options: `-c synchronous_commit=${setting}`, max: 1 });
  await claimKey(postgresJournal(own), `under ${setting}`);
  expect((await own.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: setting }]);
});
