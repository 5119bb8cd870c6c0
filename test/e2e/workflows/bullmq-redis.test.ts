import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { redisJournal } from '../../../src/journal/redis.ts';
import { hasRedis, startRedis } from '../../helpers/databases.ts';
import { describeBullMQ } from './bullmq.ts';

describe.skipIf(!hasRedis)('with redis-server on the PATH', () => {
  describeBullMQ('BullMQ on Redis', async () => {
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
      async dump() {
        const keys = await redis.keys('*');
        return JSON.stringify(
          await Promise.all(keys.map(async (key) => [key, await readContents(redis, key)])),
        );
      },
      async stop() {
        await redis.quit();
        await server.stop();
      },
    };
  });
});

async function readContents(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case 'hash':
      return redis.hgetall(key);
    case 'zset':
      return redis.zrange(key, 0, '-1');
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'string':
      return redis.get(key);
    // It was removed meanwhile.
    case 'none':
      return undefined;
    default:
      throw new Error(`${key} is a ${type}.`);
  }
}
