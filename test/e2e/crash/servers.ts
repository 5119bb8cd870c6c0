import { type DatabaseServer, hasRedis, startPostgres, startRedis } from '../../helpers/databases.ts';

type Use = (url?: string) => Promise<void>;

/** SQLite needs no server: the harness gives it a file. */
export const onFile = (use: Use) => use();

export const onPostgres = async (use: Use) => usingServer(await startPostgres(), use);

export async function onRedis(use: Use): Promise<void> {
  if (hasRedis) return usingServer(await startRedis(), use);
  console.log('redis-server is not on the PATH: the crash proof leaves Redis out.');
}

async function usingServer(server: DatabaseServer, use: Use): Promise<void> {
  try {
    await use(server.url);
  } finally {
    await server.stop();
  }
}
