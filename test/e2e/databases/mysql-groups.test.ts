import { createPool, type Pool } from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { writeText } from '../../../src/journal/compare-and-swap.ts';
import { getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { startCuttingProxy } from '../../helpers/cutting-proxy.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { useMysql } from './use-mysql.ts';

const server = useMysql();

const change = { text: '{}', mustCommit: true, index: null, dueIn: null };

const nameKeys = (count: number) => Array.from({ length: count }, (_, index) => `order-${index}`);

const readCore = (pool: Pool, table: string) => getJournalCore(mysqlJournal(pool, { table }));

/** The journal reads again each second which service it belongs to: the writes would not come at the same time. */
async function openStill(pool: Pool, table: string): Promise<JournalCore> {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const core = readCore(pool, table);
  await core.claim('made before', chargeIntent);
  return core;
}

/** Makes a table with the record of the service, and one of a charge. */
async function createTable(): Promise<string> {
  const table = await server.createTable();
  await claimKey(mysqlJournal(server.openPool(), { table }), 'made before');
  return table;
}

async function claimAll(core: JournalCore, keys: readonly string[]) {
  const results = await Promise.all(keys.map((key) => core.claim(key, chargeIntent)));
  return { states: results.map(({ state }) => state), claims: results.flatMap(toClaim) };
}

const toClaim = (result: Awaited<ReturnType<JournalCore['claim']>>) =>
  result.state === 'claimed' ? [result.claim] : [];

/** Returns the statements that the connections of a pool are given from now on. */
function recordStatements(pool: Pool): string[] {
  const statements: string[] = [];
  pool.on('connection', (connection) => {
    const { query } = connection;
    vi.spyOn(connection, 'query').mockImplementation((...given: unknown[]) => {
      statements.push(String(Object(given[0]).sql));
      return Reflect.apply(query, connection, given);
    });
  });
  return statements;
}

describe.skipIf(database.missing)('many writes at once to MySQL', () => {
  test('travel together with sql_safe_updates = 1, each with its own result', async () => {
    const table = await createTable();
    const pool = server.openPool();
    const statements = recordStatements(pool);
    pool.on('connection', (connection) => void connection.query('SET SESSION sql_safe_updates = 1'));
    const core = await openStill(pool, table);
    statements.length = 0;
    const { states, claims } = await claimAll(core, [...nameKeys(20), 'made before']);
    expect(states).toEqual([...Array(20).fill('claimed'), 'in_progress']);
    await server.run(`UPDATE ${table} SET version = 'another.process' WHERE \`key\` = 'order-5'`);
    const renewed = await Promise.all(claims.map((claim) => core.renew(claim)));
    expect(renewed.map((claim) => claim?.key)).toEqual(
      nameKeys(20).map((key) => (key === 'order-5' ? undefined : key)),
    );
    const count = (kind: RegExp) => statements.filter((sql) => kind.test(sql)).length;
    // The first claim is alone, and so is that of the key that is not new.
    expect([count(/^INSERT/), count(/ UPDATE \(/), count(/^UPDATE `/)]).toEqual([4, 1, 2]);
  });

  test('are claimed once each by two processes at each isolation level', async () => {
    for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
      const table = await createTable();
      const open = () => {
        const pool = server.openPool();
        pool.on('connection', (connection) =>
          connection.query(`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`),
        );
        return readCore(pool, table);
      };
      const [one, other] = [open(), open()];
      const results = await Promise.all([
        claimAll(one, nameKeys(20)),
        claimAll(other, nameKeys(20).reverse()),
      ]);
      const states = results.flatMap((result) => result.states);
      expect(states.sort(), level).toEqual([...Array(20).fill('claimed'), ...Array(20).fill('in_progress')]);
    }
  });

  test('do not wait for a record that is locked', async () => {
    const table = await createTable();
    const core = readCore(server.openPool(), table);
    const { claims } = await claimAll(core, nameKeys(4));
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order-2' FOR UPDATE`);
    const renewals = claims.map((claim) => core.renew(claim));
    let isRenewed = false;
    const locked = renewals[2]?.finally(() => {
      isRenewed = true;
    });
    const others = await Promise.all(renewals.filter((renewal) => renewal !== renewals[2]));
    expect(others.every((claim) => claim !== null)).toBe(true);
    expect(isRenewed).toBe(false);
    await other.commit();
    expect(await locked).toMatchObject({ key: 'order-2' });
  });

  test('are known although the result of their statement was lost', async () => {
    const table = await createTable();
    for (const part of ['), (x', 'UNION ALL']) {
      const proxy = await startCuttingProxy(server.place, (data) => data.includes(part));
      const pool = createPool({ uri: proxy.url });
      onTestFinished(() => pool.end());
      const { store } = readCore(pool, table);
      for (const [expected, version] of [
        [null, 'first'],
        ['first', 'second'],
      ] as const) {
        const written = nameKeys(10).map((key) =>
          writeText(store, part + key, { ...change, expected, version }),
        );
        expect(await Promise.all(written)).toEqual(Array(10).fill(true));
      }
      expect(proxy.cuts()).toBe(1);
    }
  });

  test('are refused inside a transaction of a connection, but for what resolves', async () => {
    const table = await createTable();
    const connection = await server.connect();
    const { store } = getJournalCore(mysqlJournal(connection, { table }));
    const writeEach = (mustCommit: boolean) =>
      nameKeys(4).map((key) => {
        const version = crypto.randomUUID();
        return writeText(store, key, { ...change, expected: null, version, mustCommit });
      });
    await connection.beginTransaction();
    for (const refusal of await Promise.all(writeEach(true).map(catchError)))
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
    expect(await Promise.all(writeEach(false))).toEqual(Array(4).fill(true));
    expect(await store.read('order-3')).not.toBeNull();
    await connection.rollback();
    expect(await store.read('order-3')).toBeNull();
  });
});
