import { type DatabaseServer, hasRedis, startPostgres, startRedis } from '../../helpers/databases.ts';

/** Starts a database for one use of it. */
export type WithDatabase = (use: Use) => Promise<void>;

type Use = (url?: string) => Promise<void>;

/** SQLite needs no server: the harness gives it a file. */
export const withFile = (use: Use) => use();

export const withPostgres = async (use: Use) => withServer(await startPostgres(), use);

export async function withRedis(use: Use): Promise<void> {
  if (hasRedis) return withServer(await startRedis(), use);
  console.log('redis-server is not on the PATH: Redis is skipped.');
}

async function withServer(server: DatabaseServer, use: Use): Promise<void> {
  try {
    await use(server.url);
  } finally {
    await server.stop();
  }
}
