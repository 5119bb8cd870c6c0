import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JournalWarningEvent, PaymentsEvent } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type Journal, MAX_DUE_IN } from '../../../src/journal/index.ts';
import { mysqlJournal, mysqlSchema } from '../../../src/journal/mysql.ts';
import { claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';
import { recordText } from '../../unit/journal/sql-tables.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import { useMysql } from './use-mysql.ts';

const server = useMysql();

const START = 1_700_000_000_000;

/** Its lease outlives each test. */
const open = (table: string) => mysqlJournal(server.openPool(), { table, lease: 600_000 });

describe.skipIf(database.missing)('the table in MySQL', () => {
  test('is made many times, also concurrently, and keeps its records', async () => {
    const journals = Array.from({ length: 20 }, () =>
      mysqlJournal(server.openPool(), { table: 'made_at_once' }),
    );
    await Promise.all(journals.map((journal) => journal.migrate()));
    const [first] = journals;
    if (!first) throw new Error('no journal');
    await claimKey(first, 'order-1');
    await Promise.all(journals.map((journal) => journal.migrate()));
    expect(await first.read('order-1')).toMatchObject({ state: 'begun' });
    const rows = await server.run(
      `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'made_at_once' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(['PRIMARY', 'due_at', 'reference', 'state']);
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
    const journal = open(table);
    await claimKey(journal, 'order-1');
    await journal.migrate();
    expect(await server.run(`SELECT state FROM ${other}.\`order\` ORDER BY state`)).toEqual([
      { state: null },
      { state: 'begun' },
    ]);
    expect(await journal.list({ state: 'begun' }).next()).toMatchObject({ value: { key: 'order-1' } });
  });

  test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a`b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
    'is not made with the name %j',
    (table) => {
      const pool = server.openPool();
      const message = 'table must be a plain name in lower case, such as payments_journal.';
      expect(() => Reflect.apply(mysqlJournal, undefined, [pool, { table }])).toThrow(message);
      expect(() => Reflect.apply(mysqlSchema, undefined, [table])).toThrow(message);
    },
  );

  test('is named when it is missing, and nothing is sent', async () => {
    const service = await startService();
    const payments = service.client({ journal: open('no_such_table') });
    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }))).toMatchObject(
      {
        name: 'JournalError',
        outcome: 'not_sent',
        message: expect.stringContaining('Run journal.migrate(), or the text of mysqlSchema().'),
      },
    );
    expect(service.requests).toEqual([]);
  });

  test('throws the error of the database when it cannot be made', async () => {
    expect(await catchError(open('missing.journal').migrate())).toMatchObject({ code: 'ER_BAD_DB_ERROR' });
  });

  test('refuses a key that is too long for it, also without strict mode', async () => {
    const pool = server.openPool();
    pool.on('connection', (connection) => void connection.query("SET sql_mode = ''"));
    const table = await server.createTable();
    const journal = mysqlJournal(pool, { table });
    const longest = '\u{1f4b3}'.repeat(255);
    await claimKey(journal, longest);
    expect(await journal.read(longest)).toMatchObject({ state: 'begun' });
    expect(await catchError(tryClaim(journal, `${longest}1`))).toMatchObject({
      name: 'JournalError',
    });
    expect(await server.run(`SELECT 1 FROM ${table} WHERE state IS NOT NULL`)).toHaveLength(1);
  });

  test('finds a reference that is longer than its column, and no other', async () => {
    const journal = open(await server.createTable());
    const long = `TXN-${'\u{1f4b3}'.repeat(600)}`;
    for (const [key, reference] of [
      ['order-1', `${long}1`],
      ['order-2', `${long}2`],
      ['order-3', ''],
    ] as const)
      await completeKey(journal, key, {
        state: 'completed',
        result: { reference },
      });
    expect(await listKeys(journal, { reference: `${long}1` })).toEqual(['order-1']);
    expect(await listKeys(journal, { reference: long })).toEqual([]);
    expect(await listKeys(journal, { reference: '' })).toEqual(['order-3']);
  });

  test('shows keys and times through the functions that its guide names', async () => {
    const table = await server.createTable();
    await claimKey(open(table), 'Ordrë-1');
    const [row] = await server.run(
      `SELECT CONVERT(\`key\` USING utf8mb4) AS shown, UNIX_TIMESTAMP(FROM_UNIXTIME(created_at / 1000)) * 1000 - created_at AS difference FROM ${table} WHERE state = 'begun'`,
    );
    expect([row?.shown, Math.abs(Number(row?.difference)) < 1]).toEqual(['Ordrë-1', true]);
  });

  test('keeps the record of a result that is larger than a packet as it was', async () => {
    const table = await server.createTable();
    const journal = open(table);
    const claim = await claimKey(journal, 'order-1');
    const [packet] = await server.run('SELECT @@GLOBAL.max_allowed_packet AS size');
    const result = { reference: 'TXN-1', page: 'x'.repeat(Number(packet?.size) / 2) };
    expect(
      await catchError(getJournalCore(journal).complete(claim, { state: 'completed', result })),
    ).toMatchObject({
      name: 'JournalError',
    });
    expect(await journal.read('order-1')).toMatchObject({ state: 'begun' });
    expect(await getJournalCore(journal).complete(claim, { state: 'unknown', reference: 'TXN-1' })).toBe(
      true,
    );
  });
});

describe.skipIf(database.missing)('what is due in MySQL', () => {
  /** Completes a key whose first check is due after `firstCheckIn` milliseconds. */
  const chargeDueIn = async (journal: Journal, key: string, firstCheckIn: number) => {
    const result = { reference: `TXN-${key}` };
    await completeKey(journal, key, { state: 'completed', result, firstCheckIn });
  };

  test('includes what is due too late, since a clock went back', async () => {
    const table = await server.createTable();
    const journal = open(table);
    await chargeDueIn(journal, 'order-1', MAX_DUE_IN - 60_000);
    await chargeDueIn(journal, 'order-2', 1_000);
    await chargeDueIn(journal, 'order-3', 0);
    await server.run(`UPDATE ${table} SET due_at = due_at + 86400000 WHERE \`key\` = 'order-2'`);
    expect(await countDue(journal)).toMatchObject({ due: 2 });
    expect(await claimDueKeys(journal, { limit: 1 })).toEqual(['order-3']);
    expect(await claimDueKeys(journal, { limit: 1 })).toEqual(['order-2']);
    expect(await claimDueKeys(journal, { limit: 1 })).toEqual([]);
    expect(await countDue(journal)).toMatchObject({
      due: 0,
      nextIn: expect.closeTo(60_000, -5),
    });
  });

  test('skips a record that a transaction holds, and returns it later', async () => {
    const table = await server.createTable();
    const journal = open(table);
    await chargeDueIn(journal, 'order-1', 0);
    await chargeDueIn(journal, 'order-2', 0);
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order-1' FOR UPDATE`);
    expect(await claimDueKeys(journal)).toEqual(['order-2']);
    await other.rollback();
    expect(await claimDueKeys(journal)).toEqual(['order-1']);
  });
});

describe.skipIf(database.missing)('a large table in MySQL', () => {
  /** Writes 100,000 completed keys that are due in half an hour, 30 that are due now, and 50 unresolved ones. */
  const fillTable = async (table: string) => {
    const now = Date.now();
    const insert = (count: number, name: string, state: string, dueAt: string, kind = 'key') => {
      const text = recordText({ state, ...(state === 'completed' && { result: { reference: 'TXN-#' } }) });
      const record = `REPLACE(REPLACE('${text}', '#', '${name}-' + 0), '${START}', ${START} + i)`.replace(
        `'${name}-' + 0`,
        `CONCAT('${name}-', i)`,
      );
      const reference = state === 'completed' ? `CONCAT('txn-${name}-', i)` : 'NULL';
      return server.run(
        `INSERT INTO ${table} (\`key\`, version, record, written_at, kind, state, created_at, reference, due_at)
        SELECT CONCAT('${name}-', i), CONCAT('v-', i), ${record}, ${now - 60_000}, '${kind}', '${state}', ${START} + i, ${reference},
          ${dueAt} FROM (${numbers}) AS numbers WHERE i <= ${count}`,
      );
    };
    const digits = (name: string) =>
      `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS ${name}`).join(' UNION ALL ')}) AS t${name}`;
    const numbers = `SELECT 1 + a + 10 * b + 100 * c + 1000 * d + 10000 * e AS i
      FROM ${['a', 'b', 'c', 'd', 'e'].map(digits).join(' CROSS JOIN ')}`;
    await insert(100_000, 'order', 'completed', `${now + 1_800_000} + i`);
    await insert(30, 'due', 'completed', `${now} - i`);
    // Those of orders are due too, and are of another kind.
    await insert(10_000, 'other', 'completed', `${now} - i`, 'order');
    await insert(25, 'unknown', 'unknown', 'NULL');
    await insert(25, 'begun', 'begun', 'NULL');
  };

  /** What is asked for, how many records are found, and how many rows can be read for that. */
  const questions: [name: string, found: number, most: number, ask: (journal: Journal) => Promise<number>][] =
    [
      ['unresolved', 50, 60, async (journal) => (await listKeys(journal, { state: 'unknown' })).length],
      [
        'completed',
        150,
        210,
        async (journal) => (await listKeys(journal, { state: 'completed', limit: 150 })).length,
      ],
      [
        'of a reference',
        1,
        5,
        async (journal) => (await listKeys(journal, { reference: 'TXN-order-77777' })).length,
      ],
      ['counted as due', 30, 40, async (journal) => (await countDue(journal)).due],
      // Each is found by its time, copied, found by its key, and found by its claim.
      [
        'due',
        30,
        230,
        async (journal) => (await claimDueKeys(journal, { limit: 100, lease: 60_000 })).length,
      ],
    ];

  test.each(['without', 'with'])('is read only for what is asked, %s statistics', async (has) => {
    const table = await server.createTable();
    const isAutomatic = has === 'with' ? 1 : 0;
    await server.run(`ALTER TABLE ${table} STATS_AUTO_RECALC = ${isAutomatic}`);
    await fillTable(table);
    if (has === 'with') await server.run(`ANALYZE TABLE ${table}`);
    const connection = await server.connect();
    const journal = mysqlJournal(connection, { table });
    const read: Record<string, number> = {};
    for (const [name, found, , ask] of questions) {
      await connection.query('FLUSH STATUS');
      expect(await ask(journal), name).toBe(found);
      const [rows] = await connection.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
      const counts = Array.isArray(rows) ? rows.map((row) => Number(Object(row).Value)) : [];
      read[name] = counts.reduce((sum, count) => sum + count, 0);
    }
    const limits = questions.map(([name, , most]) => [name, expect.toSatisfy((count) => count <= most)]);
    expect(read).toEqual(Object.fromEntries(limits));
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
    const journal = mysqlJournal(logging.openPool(), { table: await logging.createTable() });
    expect(await getJournalCore(journal).warnings?.()).toEqual([]);
    await logging.run(`SET GLOBAL ${setting} = ${value}`);
    const events: JournalWarningEvent[] = [];
    const onEvent = (event: PaymentsEvent) => {
      if (event.type === 'journal_warning') events.push(event);
    };
    const service = await startService();
    const payments = service.client({ journal, onEvent });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events[0]).toMatchObject({
      setting,
      value: String(value),
      message: expect.stringContaining(loss),
    });
    expect(events[0]?.message.length).toBeLessThanOrEqual(200);
  });

  test('is warned of with another storage engine', async () => {
    const table = await logging.createTable();
    await logging.run(`ALTER TABLE ${table} ENGINE = Aria`);
    const [warning, ...others] =
      (await getJournalCore(mysqlJournal(logging.openPool(), { table })).warnings?.()) ?? [];
    expect(warning).toMatchObject({ value: 'Aria', message: expect.stringContaining('Use ENGINE InnoDB.') });
    expect(warning?.message.length).toBeLessThanOrEqual(200);
    expect(others).toEqual([]);
  });

  test.skipIf(process.env.MYSQL_URL)(
    'is no warning if the binary log is off, or nothing can be read',
    async () => {
      await server.run('SET GLOBAL sync_binlog = 0');
      const journal = mysqlJournal(server.openPool(), { table: await server.createTable() });
      expect(await getJournalCore(journal).warnings?.()).toEqual([]);
      const away = server.openPool({ port: 1 });
      expect(await getJournalCore(mysqlJournal(away)).warnings?.()).toEqual([]);
    },
  );

  test('writes to a binary log of statements', async () => {
    const table = await logging.createTable();
    const journal = mysqlJournal(logging.openPool(), { table });
    await completeKey(journal, 'order-1', { state: 'rejected' });
    const result = { reference: 'TXN-2' };
    await completeKey(journal, 'order-2', {
      state: 'completed',
      result,
    });
    expect(await claimDueKeys(journal)).toEqual(['order-2']);
    await completeKey(journal, 'order-3', { state: 'unknown' });
    expect(await listKeys(journal)).toEqual(['order-1', 'order-2', 'order-3']);
  });
});
