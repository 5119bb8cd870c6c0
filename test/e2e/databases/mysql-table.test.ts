import type { Connection } from 'mysql2/promise';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { openMysqlStore } from '../../../src/journal/mysql-store.ts';
import { mysqlSchema } from '../../../src/journal/mysql-table.ts';
import { type JournalStore, MAX_DUE_IN } from '../../../src/journal/store.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import {
  CREATED_AT,
  claimDueKeys,
  createChange,
  insertDue,
  insertRecord,
  nameKeys,
  readVersion,
} from './mysql-records.ts';
import { prepareConnections, recordStatements, useMysql } from './use-mysql.ts';

const server = useMysql();

const open = (table: string) => openMysqlStore(server.openPool(), table);

/** Returns the keys of all pages of a list. */
async function listKeys(
  store: Pick<Required<JournalStore>, 'list'>,
  by: 'createdAt' | 'attentionAt',
  limit = 100,
): Promise<string[]> {
  const keys: string[] = [];
  for (let page = await store.list({ by, after: null, limit }); ; ) {
    keys.push(...page.map(({ key }) => key));
    const after = page.at(-1);
    if (!after || page.length < limit) return keys;
    page = await store.list({ by, after, limit });
  }
}

describe.skipIf(database.missing)('the table in MySQL', () => {
  test('is made many times, also concurrently, and keeps its records', async () => {
    const handles = Array.from({ length: 20 }, () => open('made_at_once'));
    await Promise.all(handles.map(({ migrate }) => migrate()));
    const { store } = open('made_at_once');
    const version = await insertRecord(store, 'order 1');
    await Promise.all(handles.map(({ migrate }) => migrate()));
    expect(await readVersion(store, 'order 1')).toBe(version);
    const rows = await server.run(
      `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'made_at_once' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(['PRIMARY', 'attention_at', 'created_at', 'due_at']);
  });

  test('is that of mysqlSchema, in another database, with SQL words as names', async () => {
    const other = `other_${crypto.randomUUID().replaceAll('-', '')}`;
    const connection = await server.connect({ multipleStatements: true });
    await connection.query(`CREATE DATABASE ${other}`);
    onTestFinished(async () => void (await server.run(`DROP DATABASE ${other}`)));
    const table = `${other}.order`;
    await connection.query(mysqlSchema(table));
    await connection.query(mysqlSchema(table));
    expect(mysqlSchema(table).match(/;$/gm)).toHaveLength(1);
    const { store, migrate } = open(table);
    await insertRecord(store, 'order 1');
    await migrate();
    expect(await server.run(`SELECT kind FROM ${other}.\`order\``)).toEqual([{ kind: 'key' }]);
    expect(await listKeys(store, 'createdAt')).toEqual(['order 1']);
  });

  test('reads what needs a person through its index, however many records there are', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const { store } = openMysqlStore(pool, table);
    await pool.query('SET SESSION cte_max_recursion_depth = 20000').catch(() => {});
    await pool.query(`INSERT INTO ${table} (\`key\`, version, record, kind, created_at, attention_at)
      WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 900)
      SELECT CONCAT('order ', a.i, '-', b.i), 'v', '{}', 'order', ${CREATED_AT} + a.i, NULL
      FROM s AS a JOIN s AS b ON b.i <= 20`);
    for (const key of ['order a', 'order b', 'order c'])
      await insertRecord(store, key, { index: { attentionAt: CREATED_AT } });
    await pool.query('FLUSH STATUS');
    expect(await listKeys(store, 'attentionAt')).toEqual(['order a', 'order b', 'order c']);
    const [rows] = await pool.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
    const counts = Array.isArray(rows)
      ? rows.map((row): { Value: string } => ({ Value: '0', ...Object(row) }))
      : [];
    const read = counts.reduce((sum, { Value }) => sum + Number(Value), 0);
    expect(read).toBeGreaterThanOrEqual(3);
    expect(read).toBeLessThan(12);
  });

  test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a`b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
    'is not made with the name %j',
    (table) => {
      const pool = server.openPool();
      const message = 'table must be a plain name in lower case, such as payments_journal.';
      expect(() => Reflect.apply(openMysqlStore, undefined, [pool, table])).toThrow(message);
      expect(() => Reflect.apply(mysqlSchema, undefined, [table])).toThrow(message);
    },
  );

  test('is named by each method when it is missing', async () => {
    const { store } = open('no_such_table');
    const writes = nameKeys(2).map((key) => ({ key, change: createChange() }));
    const steps: Record<string, () => Promise<unknown>> = {
      read: () => store.read('order 1'),
      write: () => store.write('order 1', createChange()),
      update: () => store.write('order 1', createChange({ expected: 'first', mustCommit: false })),
      writeAll: () => store.writeAll(writes),
      list: () => store.list({ by: 'attentionAt', after: null, limit: 10 }),
      count: () => store.count(),
      claimDue: () => store.claimDue({ kind: 'key', limit: 10, lease: 1_000 }),
      countDue: () => store.countDue({ kind: 'key' }),
      delete: () => store.delete([{ key: 'order 1', version: 'first' }]),
    };
    for (const [name, step] of Object.entries(steps))
      expect(await catchError(step()), name).toMatchObject({
        name: 'JournalError',
        reason: 'no_journal',
        outcome: 'not_sent',
        message: expect.stringContaining('Run journal.migrate(), or the text of mysqlSchema().'),
      });
  });

  test('lets no charge be sent when it is missing, until migrate makes it', async () => {
    const journal = mysqlJournal(server.openPool(), { table: 'made_late' });
    const service = await startService();
    const payments = service.client({ journal });
    const send = () => payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(await catchError(send())).toMatchObject({ name: 'JournalError', outcome: 'not_sent' });
    expect(service.requests).toEqual([]);
    await journal.migrate();
    await send();
    expect(service.requests).toHaveLength(1);
  });

  test('throws the error of the database when it cannot be made', async () => {
    expect(await catchError(open('missing.journal').migrate())).toMatchObject({ code: 'ER_BAD_DB_ERROR' });
  });

  test('holds keys of 600 characters of four bytes, in each statement', async () => {
    const pool = prepareConnections(server.openPool(), "SET sql_mode = ''");
    const { store } = openMysqlStore(pool, await server.createTable());
    const { now } = await store.read('order 1');
    const longest = ['\u{1f4b0}', '\u{1f4b1}', '\u{1f4b2}'].map((end) => '\u{1f4b3}'.repeat(599) + end);
    const writes = longest.map((key) => ({
      key,
      change: createChange({ index: { attentionAt: now, dueAt: now } }),
    }));
    expect(longest.map((key) => Buffer.byteLength(key))).toEqual([2400, 2400, 2400]);
    expect(await store.writeAll(writes)).toEqual([true, true, true]);
    // So long that a server writes it to a file.
    const text = JSON.stringify('x'.repeat(500_000));
    const updates = writes.map(({ key, change: { index, version } }) => ({
      key,
      change: createChange({ text, index, expected: version }),
    }));
    expect(await store.writeAll(updates)).toEqual([true, true, true]);
    expect(await listKeys(store, 'createdAt', 1)).toEqual(longest);
    expect(await listKeys(store, 'attentionAt', 1)).toEqual(longest);
    expect(await claimDueKeys(store)).toEqual(longest);
    expect(await store.delete(updates.map(({ key, change: { version } }) => ({ key, version })))).toBe(3);
  });

  test('refuses a key that is too long for it, also without strict mode', async () => {
    const table = await server.createTable();
    const { store } = openMysqlStore(prepareConnections(server.openPool(), "SET sql_mode = ''"), table);
    const tooLong = `${'\u{1f4b3}'.repeat(600)}1`;
    const refusal = {
      name: 'JournalError',
      outcome: 'not_sent',
      message:
        "A key in this journal's table has at most 2400 bytes. Nothing was recorded or sent. Use a shorter one.",
    };
    expect(await catchError(store.read(tooLong))).toMatchObject(refusal);
    const change = createChange();
    expect(await catchError(store.write(tooLong, change))).toMatchObject(refusal);
    const version = 'v'.repeat(129);
    expect(await catchError(store.write('order 1', { ...change, version }))).toMatchObject({
      ...refusal,
      message: expect.stringContaining('A version in'),
    });
    expect(await server.run(`SELECT 1 FROM ${table}`)).toEqual([]);
  });

  test('tells keys apart by their bytes, and sorts them so', async () => {
    const { store } = open(await server.createTable());
    const keys = ['order A', 'order a', 'order a ', 'order b', 'order e\u0301', 'order \u00e9', 'order _'];
    for (const key of keys) await insertRecord(store, key);
    const sorted = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    expect(await listKeys(store, 'createdAt', 2)).toEqual(sorted);
  });

  test('shows keys and times through the functions that its guide names', async () => {
    const table = await server.createTable();
    await insertRecord(open(table).store, 'Ordrë-1');
    const [row] = await server.run(
      `SELECT CONVERT(\`key\` USING utf8mb4) AS shown, UNIX_TIMESTAMP(FROM_UNIXTIME(created_at / 1000)) * 1000 - created_at AS difference FROM ${table}`,
    );
    expect([row?.shown, Math.abs(Number(row?.difference)) < 1]).toEqual(['Ordrë-1', true]);
  });

  test('keeps its record as it was when the next is larger than a packet', async () => {
    const { store } = open(await server.createTable());
    const expected = await insertRecord(store, 'order 1');
    const [packet] = await server.run('SELECT @@GLOBAL.max_allowed_packet AS size');
    const text = JSON.stringify('x'.repeat(Number(packet?.size) / 2));
    expect(await catchError(store.write('order 1', createChange({ expected, text })))).toBeInstanceOf(Error);
    expect(await readVersion(store, 'order 1')).toBe(expected);
    expect(await store.write('order 1', createChange({ expected }))).toBe(true);
  });
});

describe.skipIf(database.missing)("the server's clock", () => {
  test('is read in one statement, with a record or without', async () => {
    const pool = server.openPool();
    const statements = recordStatements(pool);
    const { store } = openMysqlStore(pool, await server.createTable());
    const version = await insertRecord(store, 'order 1', { text: 'text' });
    statements.length = 0;
    const reads = [await store.read('order 1'), await store.read('order 2')];
    expect(statements.filter((sql) => !sql.startsWith('SET TRANSACTION'))).toHaveLength(2);
    expect(reads.map(({ record }) => record)).toEqual([{ version, text: 'text' }, null]);
    const [clock] = await server.run('SELECT UNIX_TIMESTAMP(NOW(3)) * 1000 AS milliseconds');
    for (const { now } of reads) {
      expect(Number.isInteger(now)).toBe(true);
      expect(Number(clock?.milliseconds) - now).toBeLessThan(60_000);
      expect(Number(clock?.milliseconds) - now).toBeGreaterThanOrEqual(0);
    }
  });

  test('decides what needs a person, not the clock of the process', async () => {
    const table = await server.createTable();
    const { store } = open(table);
    const { now } = await store.read('order 1');
    for (const [key, attentionAt] of [
      ['order later', now + 600_000],
      ['order now', now],
      ['order before', now - 1],
      ['order never', null],
    ] as const)
      await insertRecord(store, key, { index: { attentionAt } });
    await insertRecord(store, 'reference 1', { index: null });
    expect(await listKeys(store, 'attentionAt')).toEqual(['order before', 'order now']);
    expect(await store.count()).toEqual({ records: 4, attention: 2 });
    // The time of a session, which its own clock sets.
    const later = prepareConnections(server.openPool(), `SET timestamp = ${now / 1000 + 700}`);
    const { store: ahead } = openMysqlStore(later, table);
    expect((await ahead.read('order 1')).now).toBe(now + 700_000);
    expect(await listKeys(ahead, 'attentionAt')).toEqual(['order before', 'order now', 'order later']);
    expect(await ahead.count()).toEqual({ records: 4, attention: 3 });
  });
});

describe.skipIf(database.missing)('what is due in MySQL', () => {
  test('is returned with the times, the earliest first, and due again later', async () => {
    const { store } = open(await server.createTable());
    const { now } = await store.read('order 1');
    for (const [key, dueAt] of [
      ['order 3', now - 1],
      ['order 1', now - 3],
      ['order 2', now - 2],
      ['order 4', now + 600_000],
    ] as const)
      await insertRecord(store, key, { index: { dueAt }, text: key });
    await insertRecord(store, 'order of another kind', { index: { kind: 'order', dueAt: now } });
    const version = await readVersion(store, 'order 1');
    const claim = { kind: 'key', limit: 2, lease: 30_000.5 } as const;
    const first = await store.claimDue(claim);
    expect(first.records).toEqual([
      { key: 'order 1', version, text: 'order 1', at: now - 3 },
      expect.objectContaining({ key: 'order 2', at: now - 2 }),
    ]);
    const second = await store.claimDue(claim);
    expect(second.records.map(({ key }) => key)).toEqual(['order 3']);
    const none = await store.claimDue(claim);
    expect(none.records).toEqual([]);
    const times = [now, first.now, second.now, none.now, (await store.read('order 1')).now];
    expect(times).toEqual(times.toSorted());
    expect(await readVersion(store, 'order 1')).toBe(version);
    const { due, nextIn } = await store.countDue({ kind: 'key' });
    expect(due).toBe(0);
    expect(nextIn).toBeLessThanOrEqual(30_001);
    expect(nextIn).toBeGreaterThan(0);
  });

  test('is due again after the lease, and not before', async () => {
    const table = await server.createTable();
    const { store } = open(table);
    const { now } = await store.read('order 1');
    await insertRecord(store, 'order 1', { index: { dueAt: now } });
    const session = prepareConnections(
      server.openPool({ connectionLimit: 1 }),
      `SET timestamp = ${now / 1000}`,
    );
    const { store: still } = openMysqlStore(session, table);
    const claim = { kind: 'key', limit: 10, lease: 1_000.5 } as const;
    expect(await still.claimDue(claim)).toMatchObject({ records: [{ key: 'order 1', at: now }], now });
    const claimAt = async (time: number) => {
      await session.query(`SET timestamp = ${time / 1000}`);
      return await still.claimDue(claim);
    };
    expect(await claimAt(now + 1_000)).toEqual({ records: [], now: now + 1_000 });
    expect(await claimAt(now + 1_001)).toMatchObject({
      records: [{ key: 'order 1', at: now + 1_001 }],
      now: now + 1_001,
    });
  });

  test('has no later time than its claim when the server is slow', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { now } = await open(table).store.read('order 1');
    const dueAt = now + 1_000;
    await insertRecord(open(table).store, 'order 1', { index: { dueAt } });
    const setClock = (time: number) => connection.query(`SET timestamp = ${time / 1000}`);
    const slow = Object.assign(Object.create(connection), {
      query: async (query: { sql: string }) => {
        const result = await connection.query(query);
        if (query.sql.includes('UPDATE')) await setClock(dueAt + 1);
        return result;
      },
    });
    const { store } = openMysqlStore(slow, table);
    await setClock(now);
    const claim = { kind: 'key', limit: 10, lease: 1_000 } as const;
    expect(await store.claimDue(claim)).toEqual({ records: [], now });
    await setClock(dueAt);
    expect(await store.claimDue(claim)).toMatchObject({ records: [{ at: dueAt }], now: dueAt });
  });

  test('accepts a write during the lease, which decides when it is due', async () => {
    const { store } = open(await server.createTable());
    await insertDue(store, 'order 1');
    const { records, now } = await store.claimDue({ kind: 'key', limit: 10, lease: 60_000 });
    const expected = records[0]?.version ?? null;
    const next = createChange({ expected, index: { dueAt: now } });
    expect(await store.write('order 1', next)).toBe(true);
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
    const last = createChange({ expected: next.version, index: { dueAt: null } });
    expect(await store.write('order 1', last)).toBe(true);
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: null });
  });

  test('includes what is due too late, since a clock went back', async () => {
    const { store } = open(await server.createTable());
    await insertDue(store, 'order 1', Math.floor(MAX_DUE_IN) - 60_000);
    await insertDue(store, 'order 2', Math.ceil(MAX_DUE_IN) + 60_000);
    await insertDue(store, 'order 3', 0);
    expect(await store.countDue({ kind: 'key' })).toEqual({
      due: 2,
      nextIn: expect.closeTo(MAX_DUE_IN - 60_000, -5),
    });
    expect(await claimDueKeys(store, { limit: 1 })).toEqual(['order 3']);
    expect(await claimDueKeys(store, { limit: 1 })).toEqual(['order 2']);
    expect(await claimDueKeys(store, { limit: 1 })).toEqual([]);
    expect(await store.countDue({ kind: 'key' })).toMatchObject({
      due: 0,
      nextIn: expect.closeTo(60_000, -5),
    });
  });

  test('skips a record that a transaction holds, and returns it later', async () => {
    const table = await server.createTable();
    const { store } = open(table);
    await insertDue(store, 'order 1');
    await insertDue(store, 'order 2');
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 1' FOR UPDATE`);
    expect(await claimDueKeys(store)).toEqual(['order 2']);
    await other.rollback();
    expect(await claimDueKeys(store)).toEqual(['order 1']);
  });
});

describe.skipIf(database.missing)('a large table in MySQL', () => {
  const digits = (name: string) =>
    `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS ${name}`).join(' UNION ALL ')}) AS t${name}`;
  /** Those from 1 to 100,000. */
  const numbers = `SELECT 1 + a + 10 * b + 100 * c + 1000 * d + 10000 * e AS i
    FROM ${['a', 'b', 'c', 'd', 'e'].map(digits).join(' CROSS JOIN ')}`;

  /** Returns how many rows a connection has read meanwhile. MariaDB also counts those that an index was asked to leave out. */
  const countRead = async (connection: Connection, run: () => Promise<void>) => {
    await connection.query('FLUSH STATUS');
    await run();
    const [rows] = await connection.query(
      "SHOW SESSION STATUS WHERE Variable_name RLIKE '^Handler_(?:read|icp_attempts)'",
    );
    const counts = Array.isArray(rows) ? rows.map((row) => Number(Object(row).Value)) : [];
    return counts.reduce((sum, count) => sum + count, 0);
  };

  /**
   * Writes 100,000 records that are due in half an hour, 30 that are due now, 10,000 of orders that are due too, 50 that need a
   * person, and 100,000 that nothing is found by. A person is needed for the first later.
   */
  const fillTable = async (table: string) => {
    const now = Date.now();
    const insert = (count: number, name: string, { kind = "'key'", dueAt = 'NULL', attentionAt = 'NULL' }) =>
      server.run(
        `INSERT INTO ${table} (\`key\`, version, record, kind, created_at, attention_at, due_at)
        SELECT CONCAT('${name} ', i), CONCAT('version-', i), '{}', ${kind}, ${kind === 'NULL' ? kind : `${CREATED_AT} + i`},
          ${attentionAt}, ${dueAt} FROM (${numbers}) AS numbers WHERE i <= ${count}`,
      );
    await insert(100_000, 'order', {
      dueAt: `${now + 1_800_000} + i`,
      attentionAt: `${now + 604_800_000} + i`,
    });
    await insert(30, 'due', { dueAt: `${now} - i` });
    await insert(10_000, 'other', { kind: "'order'", dueAt: `${now} - i` });
    await insert(50, 'unresolved', { attentionAt: `${now} - i` });
    await insert(100_000, 'reference', { kind: 'NULL' });
  };

  type MysqlStore = ReturnType<typeof openMysqlStore>['store'];
  const readPage = async (store: MysqlStore, by: 'createdAt' | 'attentionAt', at: number, key: string) =>
    (await store.list({ by, after: { at, key }, limit: 100 })).length;

  /** What is asked for, how many records are found, and how many rows can be read for that. */
  const questions: [
    name: string,
    found: number,
    most: number,
    ask: (store: MysqlStore) => Promise<number>,
  ][] = [
    ['a record', 1, 4, async (store) => ((await store.read('order 77777')).record ? 1 : 0)],
    ['no record', 0, 4, async (store) => ((await store.read('order none')).record ? 1 : 0)],
    ['who needs a person', 50, 110, async (store) => (await listKeys(store, 'attentionAt')).length],
    [
      'the first page',
      100,
      204,
      async (store) => (await store.list({ by: 'createdAt', after: null, limit: 100 })).length,
    ],
    ['a later page', 100, 206, (store) => readPage(store, 'createdAt', CREATED_AT + 55_555, 'order 55555')],
    ['counted', 50, 110_300, async (store) => (await store.count()).attention],
    ['counted as due', 30, 40, async (store) => (await store.countDue({ kind: 'key' })).due],
    // Each is found by its time, copied, found by its key, and found by its claim.
    ['due', 30, 260, async (store) => (await claimDueKeys(store, { limit: 100 })).length],
    [
      'deleted',
      10,
      25,
      (store) =>
        store.delete(
          Array.from({ length: 10 }, (_, index) => ({
            key: `order ${index + 1}`,
            version: `version-${index + 1}`,
          })),
        ),
    ],
    [
      'written in a group',
      20,
      100,
      async (store) => {
        const writes = Array.from({ length: 10 }, (_, index) => [
          { key: `order ${index + 11}`, change: createChange({ expected: `version-${index + 11}` }) },
          { key: `order new-${index}`, change: createChange() },
        ]).flat();
        return (await store.writeAll(writes)).filter((written) => written === true).length;
      },
    ],
  ];

  test.each(['without', 'with'])('is read only for what is asked, %s statistics', async (has) => {
    const table = await server.createTable();
    const isAutomatic = has === 'with' ? 1 : 0;
    await server.run(`ALTER TABLE ${table} STATS_AUTO_RECALC = ${isAutomatic}`);
    await fillTable(table);
    if (has === 'with') await server.run(`ANALYZE TABLE ${table}`);
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    const read: Record<string, number> = {};
    for (const [name, found, , ask] of questions) {
      read[name] = await countRead(connection, async () => expect(await ask(store), name).toBe(found));
    }
    const limits = questions.map(([name, , most]) => [name, expect.toSatisfy((count) => count <= most)]);
    expect(read).toEqual(Object.fromEntries(limits));
    expect(await store.count()).toEqual({ records: 110_080, attention: 50 });
  });

  test('lists 2,500 records of one time in pages, each once, in order', async () => {
    const table = await server.createTable();
    await server.run(
      `INSERT INTO ${table} (\`key\`, version, record, kind, created_at, attention_at)
      SELECT CONCAT(ELT(1 + i % 4, 'A', 'a', 'B', '_'), i), i, '{}', 'key', ${CREATED_AT}, ${CREATED_AT}
      FROM (${numbers}) AS numbers WHERE i <= 2500`,
    );
    const connection = await server.connect({ charset: 'LATIN1_SWEDISH_CI' });
    const { store } = openMysqlStore(connection, table);
    for (const by of ['createdAt', 'attentionAt'] as const) {
      let listed: string[] = [];
      const read = await countRead(connection, async () => {
        listed = await listKeys(store, by);
      });
      expect(listed).toHaveLength(2_500);
      expect(listed).toEqual(listed.toSorted());
      expect(new Set(listed).size).toBe(2_500);
      // A page begins at its first record, not at the first of this time.
      expect(read).toBeLessThan(5_400);
    }
  });
});

describe.skipIf(!hasMariaDb)('the durability of the server', () => {
  const logging = useMysql(() =>
    startMariaDb(['--log-bin=bin', '--sync-binlog=1', '--binlog-format=STATEMENT']),
  );
  afterEach(async () => {
    await logging.run('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
    await logging.run('SET GLOBAL sync_binlog = 1');
  });

  const insufficient: [setting: string, value: number, loss: string][] = [
    ['innodb_flush_log_at_trx_commit', 0, 'its crash can lose the record of a charge'],
    ['innodb_flush_log_at_trx_commit', 2, 'a crash of the machine can lose the record of a charge'],
    ['sync_binlog', 0, 'a crash of the machine can lose the record of a charge'],
  ];
  test.each(insufficient)('is warned of with %s %i', async (setting, value, loss) => {
    const { readWarnings } = openMysqlStore(logging.openPool(), await logging.createTable());
    expect(await readWarnings()).toEqual([]);
    await logging.run(`SET GLOBAL ${setting} = ${value}`);
    const [warning, ...others] = await readWarnings();
    expect(warning).toMatchObject({ setting, value: String(value), message: expect.stringContaining(loss) });
    expect(warning?.message.length).toBeLessThanOrEqual(200);
    expect(others).toEqual([]);
  });

  test('is an event of the first charge if it is not sufficient', async () => {
    const journal = mysqlJournal(logging.openPool(), { table: await logging.createTable() });
    await logging.run('SET GLOBAL sync_binlog = 0');
    const events: PaymentsEvent[] = [];
    const service = await startService();
    const payments = service.client({ journal, onEvent: (event) => void events.push(event) });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await vi.waitFor(() =>
      expect(events.filter(({ type }) => type === 'journal_warning')).toMatchObject([
        { setting: 'sync_binlog', value: '0' },
      ]),
    );
  });

  test('is warned of with another storage engine', async () => {
    const table = await logging.createTable();
    await logging.run(`ALTER TABLE ${table} MODIFY \`key\` VARBINARY(255) NOT NULL, ENGINE = Aria`);
    const [warning, ...others] = await openMysqlStore(logging.openPool(), table).readWarnings();
    expect(warning).toMatchObject({ value: 'Aria', message: expect.stringContaining('Use ENGINE InnoDB.') });
    expect(warning?.message.length).toBeLessThanOrEqual(200);
    expect(others).toEqual([]);
  });

  test.skipIf(process.env.MYSQL_URL)(
    'is no warning if the binary log is off, or nothing can be read',
    async () => {
      await server.run('SET GLOBAL sync_binlog = 0');
      expect(await open(await server.createTable()).readWarnings()).toEqual([]);
      const away = server.openPool({ port: 1 });
      expect(await openMysqlStore(away, 'payments_journal').readWarnings()).toEqual([]);
    },
  );

  test('writes to a binary log of statements', async () => {
    const { store } = openMysqlStore(logging.openPool(), await logging.createTable());
    await insertRecord(store, 'order 1');
    await insertDue(store, 'order 2');
    expect(await claimDueKeys(store)).toEqual(['order 2']);
    const expected = await readVersion(store, 'order 2');
    const writes = [
      { key: 'order 2', change: createChange({ expected }) },
      { key: 'order 3', change: createChange() },
    ];
    expect(await store.writeAll(writes)).toEqual([true, true]);
    expect(await listKeys(store, 'createdAt')).toEqual(['order 1', 'order 2', 'order 3']);
  });
});
