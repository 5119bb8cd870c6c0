import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { onTestFinished } from 'vitest';
import { type RedisClient, toCommand } from '../../src/stores/redis/client.ts';
import { createRedisStore } from '../../src/stores/redis/store.ts';
import type { DatabaseServer } from './databases.ts';
import { asWhole } from './store-suite.ts';

/** Closed with the test. */
export function connectRedis(server: DatabaseServer, options = ''): Redis {
  const client = new Redis(`${server.url}?${options}`);
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** Closed with the test. */
export async function connectNodeRedis(server: DatabaseServer, RESP: 2 | 3): Promise<RedisClient> {
  // A busy machine can take longer to connect than the 5 s of the client.
  const client = createClient({ url: server.url, RESP, socket: { connectTimeout: 60_000 } });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

/** As `redisJournal` does it. */
export const openRedisStore = (client: RedisClient, prefix: string) =>
  asWhole(createRedisStore(toCommand(client), prefix));

/** Creates a storage of the test's own, with handles on it, and a clock that the test sets. */
export function createRedisStorage(server: DatabaseServer) {
  const prefix = `${crypto.randomUUID()}:`;
  const admin = connectRedis(server);
  let time = "redis.call('TIME')";
  const call = async (command: string, script: string | number, ...args: (string | number)[]) => {
    // Redis does not have the script with this clock.
    if (command === 'EVALSHA') throw new Error('NOSCRIPT');
    return await admin.call(command, String(script).replaceAll("redis.call('TIME')", time), ...args);
  };
  return {
    prefix,
    admin,
    store: openRedisStore({ call }, prefix),
    name: (key: string) => prefix + key,
    index: () => admin.zrange(`${prefix}\tindex`, '0', '-1'),
    setNow(milliseconds: number) {
      time = `{${Math.floor(milliseconds / 1000)}, ${(milliseconds % 1000) * 1000}}`;
    },
  };
}
