import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { openPool } from './drivers.ts';
import { startServer } from './postgres-database.ts';
import { describeDriver } from './postgres-handle-tests.ts';
import { fromDrizzle, fromKysely } from './query-functions.ts';

describeDriver('Drizzle on pg', startServer, (place) => {
  const pool = openPool(place);
  const db = drizzlePg(pool);
  return {
    handle: fromDrizzle(db),
    transact: (use) => db.transaction((own) => use(fromDrizzle(own))),
    close: () => pool.end(),
  };
});

describeDriver('Drizzle on postgres.js', startServer, (place) => {
  const sql = postgres(place, { max: 4 });
  const db = drizzlePostgresJs(sql);
  return {
    handle: fromDrizzle(db),
    transact: (use) => db.transaction((own) => use(fromDrizzle(own))),
    close: () => sql.end(),
  };
});

describeDriver('Kysely', startServer, (place) => {
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: openPool(place) }),
    plugins: [new CamelCasePlugin()],
  });
  return {
    handle: fromKysely(db),
    transact: (use) => db.transaction().execute((own) => use(fromKysely(own))),
    close: () => db.destroy(),
  };
});

test('postgresJournal names fromQuery for a query builder as it is', () => {
  const pool = openPool('postgres://127.0.0.1:1/shop');
  const builders = [drizzlePg(pool), new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })];
  for (const given of builders)
    expect(() => Reflect.apply(postgresJournal, undefined, [given])).toThrow('Use fromQuery(');
});
