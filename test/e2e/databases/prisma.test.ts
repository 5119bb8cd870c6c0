import { expect, test } from 'vitest';
import { fromPrisma, postgresJournal } from '../../../src/journal/postgres.ts';
import { connectPrisma, openPrisma } from './drivers.ts';
import { database } from './kinds/prisma.ts';
import { startServer } from './postgres-database.ts';
import { describeDriver } from './postgres-handle-tests.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('prisma', database, { statementsOf: 'postgres' });

describeDriver('Prisma', startServer, openPrisma, { conforms: false });

describeDriver('Prisma with an extension that runs each query in a transaction', startServer, (place) => {
  const prisma = connectPrisma(place);
  const extended = prisma.$extends({
    query: {
      async $allOperations({ args, query }) {
        const [, result] = await prisma.$transaction([
          prisma.$executeRaw`SELECT set_config('app.shop', '7', true)`,
          query(args),
        ]);
        return result;
      },
    },
  });
  return {
    handle: fromPrisma(extended),
    transact: (use) => prisma.$transaction((own) => use(fromPrisma(own)), { timeout: 60_000 }),
    close: () => prisma.$disconnect(),
  };
});

test('the handle of a transaction is known', async () => {
  const { place, stop } = await startServer();
  const prisma = connectPrisma(place);
  expect(fromPrisma(prisma).isTransaction).toBe(false);
  expect(fromPrisma(prisma.$extends({})).isTransaction).toBe(false);
  await prisma.$transaction(async (own) => {
    expect(fromPrisma(own).isTransaction).toBe(true);
  });
  await prisma.$extends({}).$transaction(async (own) => {
    expect(fromPrisma(own).isTransaction).toBe(true);
  });
  await prisma.$disconnect();
  await stop();
});

test('postgresJournal names fromPrisma for a client as it is', () => {
  const prisma = connectPrisma('postgres://127.0.0.1:1/shop');
  for (const given of [prisma, prisma.$extends({})])
    expect(() => Reflect.apply(postgresJournal, undefined, [given])).toThrow('Use fromPrisma(prisma).');
});
