import type { Pool } from 'mysql2/promise';
import { describe, expect, test } from 'vitest';
import type { JournalOptions } from '../../../src/journal/index.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { useMysql } from './use-mysql.ts';

const server = useMysql();

const DAY = 24 * 60 * 60 * 1000;
const YEAR = 365 * DAY;

/** Opens journals whose server has a clock that the test sets. */
async function openWithClock(options: JournalOptions) {
  const table = await server.createTable();
  let ahead = 0;
  const pool: Pool = server.openPool({
    queryFormat: (sql) =>
      sql.replaceAll('UTC_TIMESTAMP(6)', `(UTC_TIMESTAMP(6) + INTERVAL ${ahead} MICROSECOND)`),
  });
  return {
    table,
    open: () => mysqlJournal(pool, { ...options, table }),
    /** How far the clock is ahead of the true time, in milliseconds. */
    setAhead(milliseconds: number) {
      ahead = milliseconds * 1_000;
    },
    countKeys: async (name: string) => {
      const rows = await server.run(`SELECT 1 FROM ${table} WHERE \`key\` LIKE '${name} %'`);
      return rows.length;
    },
  };
}

/** The time of the clock at each of some uses of other keys. */
const wrong: [string, number[]][] = [
  ['ahead a year, and back', [YEAR, YEAR, 0, 0]],
  ['ahead a year, and stays there', [YEAR, YEAR + 1, YEAR + DAY - 2]],
  ['back a year, and ahead again', [-YEAR, -YEAR, 0, 0]],
  ['ahead in six steps of a year each', [1, 2, 3, 4, 5, 6].map((step) => step * YEAR)],
  ['ahead and back ten times', Array.from({ length: 20 }, (_, index) => (index % 2) * YEAR)],
];

describe.skipIf(database.missing)('retention in MySQL', () => {
  test.each(wrong)('keeps a completed key when the clock goes %s', async (_how, clocks) => {
    const service = await startService((response) =>
      sendJson(response, 200, successBodies.chargeMobileMoney()),
    );
    const { open, setAhead } = await openWithClock({ retention: 60_000 });
    const payments = service.client({ journal: open() });
    // Before, and while the clock is wrong.
    const keys = ['order-before'];
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-before' });
    for (const [index, clock] of clocks.entries()) {
      setAhead(clock);
      const key = `order-${index}`;
      keys.push(key);
      const other = service.client({ journal: open() });
      await other.chargeMobileMoney(charge, { idempotencyKey: key });
      await other.chargeMobileMoney(charge, { idempotencyKey: 'order-before' });
    }
    const sent = service.requests.length;
    expect(sent).toBe(keys.length);
    for (const key of keys) await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(sent);
  });

  test('drops a completed key in the end, and keeps one that is resolved', async () => {
    const { open, setAhead } = await openWithClock({ retention: DAY });
    const journal = open();
    const use = async (key: string) => {
      await journal.complete(await claimKey(journal, key), { state: 'not_sent' });
    };
    await use('order-17');
    await journal.complete(await claimKey(journal, 'order-18'), { state: 'unknown' });
    await journal.resolve('order-18', 'not_charged', note);
    await claimKey(journal, 'order-19');
    // The retention, the week, and a day, since what is counted at once is a day at most.
    for (let day = 1; day <= 9; day++) {
      expect(await journal.read('order-17')).toMatchObject({ state: 'not_sent' });
      setAhead(day * DAY + 1_000);
      await use(`order of day ${day}`);
    }
    expect(await journal.read('order-17')).toBeNull();
    expect(await journal.read('order-18')).toMatchObject({ state: 'not_charged' });
    expect(await journal.read('order-19')).toMatchObject({ state: 'unknown' });
  });

  test('claims a key again whose record was kept for its time', async () => {
    const { table, open } = await openWithClock({ retention: DAY });
    const journal = open();
    const other = { ...chargeIntent, fingerprint: 'of other input' };
    const result = { reference: 'TXN-1' };
    await journal.complete(await claimKey(journal, 'order-17'), { state: 'completed', result });
    const later = (milliseconds: number) =>
      server.run(`UPDATE ${table} SET kept_until = kept_until - ${milliseconds} WHERE \`key\` = 'order-17'`);
    await later(8 * DAY - 60_000);
    expect(await journal.claim('order-17', other)).toMatchObject({ state: 'conflict' });
    await later(60_000);
    const claims = await Promise.all(Array.from({ length: 10 }, () => journal.claim('order-17', other)));
    expect(claims.filter(({ state }) => state === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ state }) => state === 'in_progress')).toHaveLength(9);
    expect(await journal.read('order-17')).toMatchObject({ state: 'begun' });
  });

  test('deletes expired records in small steps, and no unresolved ones', async () => {
    const { table, open, countKeys } = await openWithClock({ retention: DAY });
    const journal = open();
    for (let index = 0; index < 30; index++) {
      await journal.complete(await claimKey(journal, `old ${index}`), { state: 'rejected' });
      await claimKey(journal, `left ${index}`);
    }
    await server.run(`UPDATE ${table} SET kept_until = kept_until - ${9 * DAY}`);
    for (const left of [20, 10, 0, 0]) {
      await journal.complete(await claimKey(journal, `new ${left} ${crypto.randomUUID()}`), {
        state: 'rejected',
      });
      expect(await countKeys('old')).toBe(left);
    }
    expect(await countKeys('left')).toBe(30);
    expect(await countKeys('new')).toBe(4);
  });

  test('waits neither for a counted time nor for a record that others hold', async () => {
    const { table, open, setAhead, countKeys } = await openWithClock({ retention: DAY });
    const journal = open();
    for (const key of ['old 1', 'old 2'])
      await journal.complete(await claimKey(journal, key), { state: 'rejected' });
    await server.run(`UPDATE ${table} SET kept_until = kept_until - ${9 * DAY}`);
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT counted FROM ${table}_clock FOR UPDATE`);
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'old 1' FOR UPDATE`);
    setAhead(120_000);
    await journal.complete(await claimKey(journal, 'new 0'), { state: 'rejected' });
    expect(await countKeys('old')).toBe(1);
    setAhead(-YEAR);
    await journal.complete(await claimKey(journal, 'new 1'), { state: 'rejected' });
    await other.rollback();
    setAhead(0);
    await journal.complete(await claimKey(journal, 'new 2'), { state: 'rejected' });
    expect(await countKeys('old')).toBe(0);
    // It was recorded at a wrong time that no process has counted.
    expect(await journal.read('new 1')).toMatchObject({ state: 'rejected' });
  });

  test('keeps all records while the row of the counted time is missing', async () => {
    const { table, open } = await openWithClock({ retention: 1 });
    const journal = open();
    await server.run(`DELETE FROM ${table}_clock`);
    await journal.complete(await claimKey(journal, 'order-17'), { state: 'rejected' });
    expect(await server.run(`SELECT kept_until FROM ${table} WHERE \`key\` = 'order-17'`)).toEqual([
      { kept_until: null },
    ]);
    await journal.migrate();
    await journal.complete(await claimKey(journal, 'order-17'), { state: 'rejected' });
    const [row] = await server.run(`SELECT kept_until FROM ${table} WHERE \`key\` = 'order-17'`);
    expect(Number(row?.kept_until)).toBeGreaterThanOrEqual(7 * DAY);
  });

  test('reads a claim as its clock says, whatever the time zones are', async () => {
    const { open, setAhead } = await openWithClock({ lease: 10_000 });
    const journal = open();
    await claimKey(journal, 'order-17');
    setAhead(-DAY);
    expect(await journal.claim('order-17', chargeIntent)).toMatchObject({ state: 'in_progress' });
    setAhead(10_500);
    expect(await journal.claim('order-17', chargeIntent)).toMatchObject({ state: 'unknown' });
    expect(await journal.read('order-17')).toMatchObject({ state: 'unknown', inProgress: false });
  });
});
