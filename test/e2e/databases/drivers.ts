/** Opens a driver of PostgreSQL as a shop does, for {@link describeDriver}. */

import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';
import { Pool } from 'pg';
import postgres from 'postgres';
import { fromPostgresJs, fromPrisma } from '../../../src/journal/postgres.ts';
import { type OpenDriver, transactOn } from './postgres-handle-tests.ts';

export function openPool(place: string): Pool {
  const pool = new Pool({ connectionString: place, max: 4 });
  pool.on('error', () => {});
  return pool;
}

export function openPg(place: string): OpenDriver {
  const pool = openPool(place);
  return {
    handle: pool,
    transact: (use) => transactOn(() => pool.connect(), use),
    close: () => pool.end(),
  };
}

export function openPostgresJs(place: string, prepare = true): OpenDriver {
  const sql = postgres(place, { max: 4, prepare });
  return {
    handle: fromPostgresJs(sql),
    transact: async (use) => void (await sql.begin((own) => use(fromPostgresJs(own)))),
    close: () => sql.end(),
  };
}

export const connectPrisma = (place: string) =>
  new PrismaClient({ adapter: new PrismaPg({ connectionString: place, max: 4 }) });

export function openPrisma(place: string): OpenDriver {
  const prisma = connectPrisma(place);
  return {
    handle: fromPrisma(prisma),
    transact: (use) => prisma.$transaction((own) => use(fromPrisma(own)), { timeout: 60_000 }),
    close: () => prisma.$disconnect(),
  };
}
