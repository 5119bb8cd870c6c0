import postgres from 'postgres';
import { expect, test } from 'vitest';
import { fromPostgresJs, postgresJournal } from '../../../src/journal/postgres.ts';
import { openPostgresJs } from './drivers.ts';
import { database } from './kinds/postgres-js.ts';
import { startServer } from './postgres-database.ts';
import { describeDriver } from './postgres-handle-tests.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('postgres-js', database, { statementsOf: 'postgres' });

describeDriver('postgres.js', startServer, (place) => openPostgresJs(place), { conforms: false });

describeDriver('postgres.js that renames columns, on a reserved connection', startServer, async (place) => {
  const sql = postgres(place, { transform: postgres.pascal, prepare: false });
  const reserved = await sql.reserve();
  const transact = async (use: (handle: ReturnType<typeof fromPostgresJs>) => Promise<void>) => {
    await reserved`BEGIN`;
    try {
      await use(fromPostgresJs(reserved));
      await reserved`COMMIT`;
    } catch (error) {
      await reserved`ROLLBACK`;
      throw error;
    }
  };
  return {
    handle: fromPostgresJs(reserved),
    transact,
    close: async () => {
      reserved.release();
      await sql.end();
    },
  };
});

test('the handle of a transaction is known, of a savepoint too', async () => {
  const { place, stop } = await startServer();
  const sql = postgres(place);
  expect(fromPostgresJs(sql).isTransaction).toBe(false);
  await sql.begin(async (own) => {
    expect(fromPostgresJs(own).isTransaction).toBe(true);
    await own.savepoint(async (inner) => expect(fromPostgresJs(inner).isTransaction).toBe(true));
  });
  await sql.end();
  await stop();
});

test('postgresJournal names fromPostgresJs for sql as it is', async () => {
  const sql = postgres();
  for (const given of [sql, postgres({ max: 1 })])
    expect(() => Reflect.apply(postgresJournal, undefined, [given])).toThrow('Use fromPostgresJs(sql).');
  await sql.end();
});
