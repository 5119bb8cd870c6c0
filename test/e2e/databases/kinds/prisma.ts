import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';
import { fromPrisma } from '../../../../src/stores/postgres/index.ts';
import { createPostgresDatabase } from '../postgres-database.ts';

/** PostgreSQL through Prisma 7. */
export const database = createPostgresDatabase((place) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: place, max: 4 }) });
  return { handle: fromPrisma(prisma), close: () => prisma.$disconnect() };
});
