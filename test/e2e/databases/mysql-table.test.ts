import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { openMysqlStore } from '../../../src/stores/mysql/store.ts';
import { mysqlSchema } from '../../../src/stores/mysql/table.ts';
import { catchError } from '../../helpers/service.ts';
import { listRows, questions } from '../../helpers/store-plans.ts';
import { asWhole, describeTimes, testMissing } from '../../helpers/store-suite.ts';
import {
  claimKeys,
  createChange,
  createWrite,
  listAll,
  readVersion,
  writeNew,
} from '../../helpers/store-writes.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import { prepareConnections, useMysql } from './use-mysql.ts';

const server = useMysql();

const open = (table: string) => openMysqlStore(server.openPool(), table);

describe.skipIf(database.missing)('the store in MySQL', () => {
  describeTimes(async () => {
    // The time of a session, which its own clock sets.
    const pool = server.openPool({ connectionLimit: 1 });
    const { store } = openMysqlStore(pool, await server.createTable());
    return { store, setNow: (now) => pool.query(`SET timestamp = ${now / 1000}`) };
  });
  testMissing(() => open('no_such_table').store, 'Run journal.migrate(), or the text of mysqlSchema().');

  test('has no later time than its claim when the server is slow', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { now } = await open(table).store.read('order 1');
    const dueAt = now + 1_000;
    await writeNew(open(table).store, 'order 1', { index: { dueAt } });
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
    expect(await store.claimDue(claimKeys)).toEqual({ records: [], now });
    await setClock(dueAt);
    expect(await store.claimDue(claimKeys)).toMatchObject({ records: [{ at: dueAt }], now: dueAt });
  });
});

describe.skipIf(database.missing)('the table in MySQL', () => {
  test('is made many times, also concurrently, and keeps its records', async () => {
    const handles = Array.from({ length: 20 }, () => open('made_at_once'));
    await Promise.all(handles.map(({ migrate }) => migrate()));
    const { store } = open('made_at_once');
    const version = await writeNew(store, 'order 1');
    await Promise.all(handles.map(({ migrate }) => migrate()));
    expect(await readVersion(store, 'order 1')).toBe(version);
    const rows = await server.run(
      `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'made_at_once' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(['PRIMARY', 'attention_at', 'created_at', 'due_at']);
    expect(await catchError(open('missing.journal').migrate())).toMatchObject({ code: 'ER_BAD_DB_ERROR' });
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
    const { store, migrate, readWarnings } = open(table);
    await writeNew(store, 'order 1');
    await migrate();
    expect(await server.run(`SELECT kind FROM ${other}.\`order\``)).toEqual([{ kind: 'key' }]);
    expect(await store.list(listAll)).toMatchObject([{ key: 'order 1' }]);
    await connection.query(`ALTER TABLE ${other}.\`order\` MODIFY \`key\` VARBINARY(255), ENGINE = MyISAM`);
    expect(await readWarnings()).toMatchObject([{ value: 'MyISAM' }]);
  });

  test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a`b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
    'is not made with the name %j',
    (table) => {
      const message = 'table must be a plain name in lower case, such as payments_journal.';
      expect(() => Reflect.apply(openMysqlStore, undefined, [server.openPool(), table])).toThrow(message);
      expect(() => Reflect.apply(mysqlSchema, undefined, [table])).toThrow(message);
    },
  );

  test('refuses a key that is too long for it, also without strict mode', async () => {
    const table = await server.createTable();
    const { store } = openMysqlStore(prepareConnections(server.openPool(), "SET sql_mode = ''"), table);
    const tooLong = `${'\u{1f4b3}'.repeat(600)}1`;
    const refusal = (what: string) => ({
      name: 'JournalError',
      outcome: 'not_sent',
      message: `A ${what} bytes. Nothing was recorded or sent. Use a shorter one.`,
    });
    const ofKey = refusal("key in this journal's table has at most 2400");
    expect(await catchError(store.read(tooLong))).toMatchObject(ofKey);
    expect(await catchError(store.write(tooLong, createChange()))).toMatchObject(ofKey);
    const version = 'v'.repeat(129);
    expect(await catchError(store.write('order 1', createChange({ version })))).toMatchObject(
      refusal("version in this journal's table has at most 128"),
    );
    expect(await server.run(`SELECT 1 FROM ${table}`)).toEqual([]);
  });

  test('shows keys and times through the functions that its guide names', async () => {
    const table = await server.createTable();
    await writeNew(open(table).store, 'Ordrë-1');
    const [row] = await server.run(
      `SELECT CONVERT(\`key\` USING utf8mb4) AS shown, UNIX_TIMESTAMP(FROM_UNIXTIME(created_at / 1000)) * 1000 - created_at AS difference FROM ${table}`,
    );
    expect([row?.shown, Math.abs(Number(row?.difference)) < 1]).toEqual(['Ordrë-1', true]);
  });

  test('keeps its record as it was when the next is larger than a packet', async () => {
    const { store } = open(await server.createTable());
    const expected = await writeNew(store, 'order 1');
    const [packet] = await server.run('SELECT @@GLOBAL.max_allowed_packet AS size');
    const text = JSON.stringify('x'.repeat(Number(packet?.size) / 2));
    expect(await catchError(store.write('order 1', createChange({ expected, text })))).toBeInstanceOf(Error);
    expect(await readVersion(store, 'order 1')).toBe(expected);
    expect(await store.write('order 1', createChange({ expected }))).toBe(true);
  });
});

/** How many rows are read at most. MariaDB also counts those that an index was asked to leave out. */
const limits: Record<keyof typeof questions, number> = {
  'a record': 4,
  'no record': 4,
  'who needs a person': 110,
  'the first page': 204,
  'a later page': 206,
  'a later page of one time': 206,
  counted: 112_800,
  'counted as due': 40,
  // Each is found by its time, copied, found by its key, and found by its claim.
  due: 260,
  deleted: 25,
  'written in a group': 100,
};

describe.skipIf(database.missing)('a large table in MySQL', () => {
  const digits = (name: string) =>
    `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS ${name}`).join(' UNION ALL ')}) AS t${name}`;
  /** Those from 1 to 100,000. */
  const numbers = `SELECT 1 + a + 10 * b + 100 * c + 1000 * d + 10000 * e AS i
    FROM ${['a', 'b', 'c', 'd', 'e'].map(digits).join(' CROSS JOIN ')}`;

  test.each(['without', 'with'])('is read only for what is asked, %s statistics', async (has) => {
    const table = await server.createTable();
    await server.run(`ALTER TABLE ${table} STATS_AUTO_RECALC = ${has === 'with' ? 1 : 0}`);
    for (const { name, count, values } of listRows(Date.now()))
      await server.run(`INSERT INTO ${table} (\`key\`, version, record, kind, created_at, attention_at, due_at)
        SELECT CONCAT('${name} ', i), CONCAT('v-', i), '{}', ${values} FROM (${numbers}) AS numbers WHERE i <= ${count}`);
    if (has === 'with') await server.run(`ANALYZE TABLE ${table}`);
    const connection = await server.connect({ charset: 'LATIN1_SWEDISH_CI' });
    const store = asWhole(openMysqlStore(connection, table).store);
    const read: Record<string, number> = {};
    for (const [question, [found, ask]] of Object.entries(questions)) {
      await connection.query('FLUSH STATUS');
      expect(await ask(store), question).toBe(found);
      const [rows] = await connection.query(
        "SHOW SESSION STATUS WHERE Variable_name RLIKE '^Handler_(?:read|icp_attempts)'",
      );
      const counts = Array.isArray(rows) ? rows.map((row) => Number(Object(row).Value)) : [];
      read[question] = counts.reduce((sum, count) => sum + count, 0);
    }
    const most = (limit: number) => expect.toSatisfy((count) => count <= limit);
    expect(read).toEqual(
      Object.fromEntries(Object.entries(limits).map(([key, limit]) => [key, most(limit)])),
    );
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

  test.each([
    ['innodb_flush_log_at_trx_commit', 0, 'its crash can lose the record of a charge'],
    ['innodb_flush_log_at_trx_commit', 2, 'a crash of the machine can lose the record of a charge'],
    ['sync_binlog', 0, 'a crash of the machine can lose the record of a charge'],
  ])('is warned of with %s %i', async (setting, value, loss) => {
    const { readWarnings } = openMysqlStore(logging.openPool(), await logging.createTable());
    expect(await readWarnings()).toEqual([]);
    await logging.run(`SET GLOBAL ${setting} = ${value}`);
    const warnings = await readWarnings();
    expect(warnings).toEqual([{ setting, value: String(value), message: expect.stringContaining(loss) }]);
    expect(warnings[0]?.message.length).toBeLessThanOrEqual(200);
  });

  test('is warned of with another storage engine', async () => {
    const table = await logging.createTable();
    await logging.run(`ALTER TABLE ${table} MODIFY \`key\` VARBINARY(255) NOT NULL, ENGINE = Aria`);
    const warnings = await openMysqlStore(logging.openPool(), table).readWarnings();
    const message = expect.stringContaining('Use ENGINE InnoDB.');
    expect(warnings).toEqual([{ setting: expect.any(String), value: 'Aria', message }]);
    expect(warnings[0]?.message.length).toBeLessThanOrEqual(200);
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

  test('is that of a binary log of statements too', async () => {
    const { store } = openMysqlStore(logging.openPool(), await logging.createTable());
    const expected = await writeNew(store, 'order 2', { index: { dueAt: 1 } });
    expect((await store.claimDue(claimKeys)).records).toMatchObject([{ key: 'order 2' }]);
    const writes = [createWrite('order 2', { expected }), createWrite('order 3')];
    expect(await store.writeAll(writes)).toEqual([true, true]);
    expect(await store.list(listAll)).toMatchObject([{ key: 'order 2' }, { key: 'order 3' }]);
  });
});
