import { Client, Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { writeText } from '../../../src/journal/compare-and-swap.ts';
import { getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { startCuttingProxy } from '../../helpers/cutting-proxy.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

function openPool(options: object = {}): Pool {
  const pool = new Pool({ connectionString: server.url, ...options });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  return pool;
}

async function openClient(options: object = {}): Promise<Client> {
  const client = new Client({ connectionString: server.url, ...options });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

let tables = 0;

/** Makes a table of its own, with the record of the service. */
async function createTable(): Promise<string> {
  const table = `grouped_${++tables}`;
  const journal = postgresJournal(openPool(), { table });
  await journal.migrate();
  await claimKey(journal, 'made before');
  return table;
}

const nameKeys = (count: number) => Array.from({ length: count }, (_, index) => `order-${index}`);

/** The journal reads again each second which service it belongs to: the writes would not come at the same time. */
function stopClocks(): void {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('writes together what comes meanwhile', async () => {
  const table = await createTable();
  const pool = openPool();
  const core = getJournalCore(postgresJournal(pool, { table }));
  stopClocks();
  await core.claim('made before', chargeIntent);
  const results = await Promise.all(
    [...nameKeys(20), 'made before'].map((key) => core.claim(key, chargeIntent)),
  );
  expect(results.map(({ state }) => state)).toEqual([...Array(20).fill('claimed'), 'in_progress']);
  const countCommits = async () => {
    const { rows } = await pool.query(
      `SELECT count(*)::int AS records, count(DISTINCT xmin::text)::int AS commits FROM ${table} WHERE key LIKE 'order-%'`,
    );
    return rows;
  };
  // The first one is alone.
  expect(await countCommits()).toEqual([{ records: 20, commits: 2 }]);
  await pool.query(`UPDATE ${table} SET version = 'another.process' WHERE key = 'order-5'`);
  const renewed = await Promise.all(
    results.map((result) => (result.state === 'claimed' ? core.renew(result.claim) : null)),
  );
  const stillHeld = [...nameKeys(20), undefined].map((key) => (key === 'order-5' ? undefined : key));
  expect(renewed.map((claim) => claim?.key)).toEqual(stillHeld);
  expect(await countCommits()).toEqual([{ records: 20, commits: 3 }]);
});

test.each(['repeatable\\ read', 'serializable'])('writes together under %s', async (isolation) => {
  const table = await createTable();
  const open = () => {
    const pool = openPool({ options: `-c default_transaction_isolation=${isolation}` });
    return getJournalCore(postgresJournal(pool, { table }));
  };
  const [one, other] = [open(), open()];
  const claimAll = (core: JournalCore) =>
    Promise.all(nameKeys(20).map((key) => core.claim(key, chargeIntent)));
  const states = (await Promise.all([claimAll(one), claimAll(other)])).flat().map(({ state }) => state);
  expect(states.sort()).toEqual([...Array(20).fill('claimed'), ...Array(20).fill('in_progress')]);
});

test('does not let a locked record hold up the others', async () => {
  const table = await createTable();
  const core = getJournalCore(postgresJournal(openPool(), { table }));
  const claims = await Promise.all(nameKeys(4).map((key) => core.claim(key, chargeIntent)));
  const other = await openClient();
  await other.query('BEGIN');
  await other.query(`SELECT 1 FROM ${table} WHERE key = 'order-2' FOR UPDATE`);
  const renewals = claims.map((result) =>
    result.state === 'claimed' ? core.renew(result.claim) : Promise.resolve(null),
  );
  let isRenewed = false;
  const locked = renewals[2]?.finally(() => {
    isRenewed = true;
  });
  const others = await Promise.all(renewals.filter((renewal) => renewal !== renewals[2]));
  expect(others.every((claim) => claim !== null)).toBe(true);
  expect(isRenewed).toBe(false);
  await other.query('COMMIT');
  expect(await locked).toMatchObject({ key: 'order-2' });
});

/** Begins a group that waits, inside PostgreSQL, for the transaction of `other`. */
async function startWaitingGroup(table: string, other: Client) {
  const core = getJournalCore(postgresJournal(openPool(), { table }));
  stopClocks();
  await core.claim('made before', chargeIntent);
  await other.query('BEGIN');
  await other.query(
    `INSERT INTO ${table} SELECT 'order-2', version, record, written_at FROM ${table} WHERE key = 'made before'`,
  );
  const claiming = nameKeys(5).map((key) => core.claim(key, chargeIntent));
  return claiming;
}

const findWaiting = `SELECT pid FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%json_to_recordset%'`;

test('writes each record alone after the connection of a group was ended', async () => {
  const table = await createTable();
  const other = await openClient();
  const claiming = await startWaitingGroup(table, other);
  const admin = await openClient();
  await vi.waitFor(async () => expect((await admin.query(findWaiting)).rows).toHaveLength(1));
  await admin.query(`SELECT pg_terminate_backend(pid) FROM (${findWaiting}) AS waiting`);
  const others = await Promise.all(claiming.filter((_, index) => index !== 2));
  expect(others.map(({ state }) => state)).toEqual(Array(4).fill('claimed'));
  await other.query('ROLLBACK');
  expect(await claiming[2]).toMatchObject({ state: 'claimed' });
});

test('finds each record of a group whose result was lost', async () => {
  const table = await createTable();
  const proxy = await startCuttingProxy(server.url, (data) => data.includes('json_to_recordset'));
  stopClocks();
  const pool = openPool({ connectionString: proxy.url });
  const core = getJournalCore(postgresJournal(pool, { table }));
  await core.claim('made before', chargeIntent);
  const keys = [...nameKeys(10), 'made before'];
  const results = await Promise.all(keys.map((key) => core.claim(key, chargeIntent)));
  expect(results.map(({ state }) => state)).toEqual([...Array(10).fill('claimed'), 'in_progress']);
  expect(proxy.cuts()).toBe(1);
  const { rows } = await pool.query(
    `SELECT record ->> 'attempts' AS attempts, count(*)::int AS records, count(DISTINCT xmin::text)::int AS commits
    FROM ${table} WHERE key LIKE 'order-%' GROUP BY 1`,
  );
  // The first one alone, the others in the group that was cut.
  expect(rows).toEqual([{ attempts: '1', records: 10, commits: 2 }]);
});

test('refuses a group inside a transaction of its Client, and resolves as a part of it', async () => {
  const table = await createTable();
  const client = await openClient();
  const { store } = getJournalCore(postgresJournal(client, { table }));
  const writeEach = (mustCommit: boolean) =>
    nameKeys(4).map((key) => {
      const version = crypto.randomUUID();
      return writeText(store, key, {
        expected: null,
        version,
        text: '{}',
        mustCommit,
        index: null,
        dueIn: null,
      });
    });
  await client.query('BEGIN');
  for (const refusal of await Promise.all(writeEach(true).map(catchError)))
    expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
  expect(await Promise.all(writeEach(false))).toEqual(Array(4).fill(true));
  expect(await store.read('order-3')).not.toBeNull();
  await client.query('ROLLBACK');
  expect(await store.read('order-3')).toBeNull();
});

test('leaves the error of a strict transaction to each write of a group', async () => {
  const table = await createTable();
  const [client, other] = [await openClient(), await openClient()];
  const { store } = getJournalCore(postgresJournal(client, { table }));
  const change = { text: '{}', mustCommit: false, index: null, dueIn: null };
  for (const key of nameKeys(3)) await store.write(key, { ...change, expected: null, version: 'first' });
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await store.read('order-1');
  await other.query(`UPDATE ${table} SET written_at = written_at WHERE key = 'order-1'`);
  const grouped = nameKeys(3).map((key) =>
    writeText(store, key, { ...change, expected: 'first', version: `second of ${key}` }),
  );
  for (const failure of await Promise.all(grouped.map(catchError)))
    expect(failure).toMatchObject({ name: 'JournalError', cause: { code: '40001' } });
  await client.query('ROLLBACK');
});
