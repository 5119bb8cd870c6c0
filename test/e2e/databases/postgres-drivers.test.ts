import { PGlite } from '@electric-sql/pglite';
import { sql as drizzleSql, type SQL } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  postgresJournal,
} from '../../../src/stores/postgres/index.ts';
import { openNeonHttp, openNeonPool, startNeon } from './neon-proxy.ts';
import {
  connectPrisma,
  describeDriver,
  openPool,
  openPostgresJs,
  openPrisma,
  startDatabase,
  transactOn,
} from './postgres-drivers.ts';

describeDriver('postgres.js', openPostgresJs, { conforms: false });

describeDriver('postgres.js that renames columns, on a reserved connection', async (place) => {
  const sql = postgres(place, { transform: postgres.pascal, prepare: false });
  const reserved = await sql.reserve();
  const handle = fromPostgresJs(reserved);
  const connection = { query: (text: string) => reserved.unsafe(text), release: () => {} };
  return {
    handle,
    transact: (use) =>
      transactOn(
        async () => connection,
        () => use(handle),
      ),
    async close() {
      reserved.release();
      await sql.end();
    },
  };
});

describeDriver('Prisma', openPrisma, { conforms: false });

describeDriver('Prisma with an extension that runs each query in a transaction', (place) => {
  const prisma = connectPrisma(place);
  const extended = prisma.$extends({
    query: {
      async $allOperations({ args, query }) {
        const setting = prisma.$executeRaw`SELECT set_config('app.shop', '7', true)`;
        const [, result] = await prisma.$transaction([setting, query(args)]);
        return result;
      },
    },
  });
  return { ...openPrisma(place), handle: fromPrisma(extended) };
});

/** Drizzle takes no text with `$1`, so each becomes one of its parameters. */
const fromDrizzle = (db: { execute(query: SQL): PromiseLike<unknown> }) =>
  fromQuery((text, values) => {
    const parts = text
      .split(/\$(\d+)/)
      .map((part, index) =>
        index % 2 === 0 ? drizzleSql.raw(part) : drizzleSql.param(values[Number(part) - 1]),
      );
    return db.execute(drizzleSql.join(parts));
  });

describeDriver('Drizzle on pg', (place) => {
  const pool = openPool(place);
  const db = drizzlePg(pool);
  return {
    handle: fromDrizzle(db),
    transact: (use) => db.transaction((own) => use(fromDrizzle(own))),
    close: () => pool.end(),
  };
});

describeDriver('Drizzle on postgres.js', (place) => {
  const sql = postgres(place, { max: 4 });
  const db = drizzlePostgresJs(sql);
  return {
    handle: fromDrizzle(db),
    transact: (use) => db.transaction((own) => use(fromDrizzle(own))),
    close: () => sql.end(),
  };
});

const fromKysely = (db: Kysely<unknown>) =>
  fromQuery((text, values) => db.executeQuery(CompiledQuery.raw(text, values)));

describeDriver('Kysely', (place) => {
  const dialect = new PostgresDialect({ pool: openPool(place) });
  const db = new Kysely<unknown>({ dialect, plugins: [new CamelCasePlugin()] });
  return {
    handle: fromKysely(db),
    transact: (use) => db.transaction().execute((own) => use(fromKysely(own))),
    close: () => db.destroy(),
  };
});

describeDriver(
  'the Pool of Neon',
  (place) => {
    const pool = openNeonPool(place);
    const toHandle = (client: { query(text: string, values: unknown[]): PromiseLike<object> }) =>
      fromQuery((text, values) => client.query(text, values));
    return {
      handle: toHandle(pool),
      transact: (use) =>
        transactOn(
          () => pool.connect(),
          (client) => use(toHandle(client)),
        ),
      close: () => pool.end(),
    };
  },
  { start: startNeon },
);

test('knows the handle of a transaction', async () => {
  const { place } = await startDatabase();
  const [sql, prisma] = [postgres(place), connectPrisma(place)];
  const known: Record<string, boolean> = {
    'postgres.js': fromPostgresJs(sql).isTransaction,
    Prisma: fromPrisma(prisma).isTransaction,
    'Prisma extended': fromPrisma(prisma.$extends({})).isTransaction,
  };
  await sql.begin(async (own) => {
    known['in postgres.js'] = fromPostgresJs(own).isTransaction;
    await own.savepoint(async (inner) => {
      known['in a savepoint'] = fromPostgresJs(inner).isTransaction;
    });
  });
  await prisma.$transaction(async (own) => {
    known['in Prisma'] = fromPrisma(own).isTransaction;
  });
  await prisma.$extends({}).$transaction(async (own) => {
    known['in Prisma extended'] = fromPrisma(own).isTransaction;
  });
  const expected = Object.keys(known).map((name) => [name, name.startsWith('in ')]);
  expect(known).toEqual(Object.fromEntries(expected));
  await prisma.$disconnect();
  await sql.end();
});

test('names the function for a driver that is given as it is', async () => {
  const place = 'postgres://merchant:merchant@127.0.0.1:1/shop?neon_proxy=1';
  const [sql, prisma, pool, db] = [postgres(place), connectPrisma(place), openPool(place), new PGlite()];
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  for (const [given, instead] of [
    [sql, 'fromPostgresJs(sql)'],
    [postgres({ max: 1 }), 'fromPostgresJs(sql)'],
    [prisma, 'fromPrisma(prisma)'],
    [prisma.$extends({}), 'fromPrisma(prisma)'],
    ...[openNeonHttp(place), drizzlePg(pool), kysely, db].map((driver) => [driver, 'fromQuery('] as const),
  ] as const)
    expect(() => Reflect.apply(postgresJournal, undefined, [given])).toThrow(`Use ${instead}`);
  await db.close();
});
