import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { hasRedis, startRedis } from '../../helpers/databases.ts';
import { describeQueue } from './scenarios.ts';

describe.skipIf(!hasRedis)('with redis-server on the PATH', () => {
  describeQueue('BullMQ on Redis', 'bullmq', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const journal = redisJournal(redis);
    return {
      env: { QUEUE_URL: server.url },
      openJournal: () => ({ journal, close() {} }),
      async removeJobs() {
        const keys = await redis.keys('bull:*');
        if (keys.length > 0) await redis.del(...keys);
      },
      disconnect: () => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
      async dump() {
        const keys = await redis.keys('*');
        const contents = keys.map(async (key) => [key, await readContents(redis, key)]);
        return JSON.stringify(await Promise.all(contents));
      },
      async stop() {
        await redis.quit();
        await server.stop();
      },
    };
  });
});

async function readContents(redis: Redis, key: string): Promise<unknown> {
  const read: Record<string, () => Promise<unknown>> = {
    hash: () => redis.hgetall(key),
    zset: () => redis.zrange(key, 0, '-1'),
    list: () => redis.lrange(key, 0, -1),
    set: () => redis.smembers(key),
    stream: () => redis.xrange(key, '-', '+'),
    string: () => redis.get(key),
    // It was removed meanwhile.
    none: async () => undefined,
  };
  const type = await redis.type(key);
  if (!read[type]) throw new Error(`${key} is a ${type}.`);
  return await read[type]();
}
