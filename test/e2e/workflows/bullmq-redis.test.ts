import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { hasRedis, startRedis } from '../../helpers/databases.ts';
import { describeBullMQ } from './bullmq.ts';

describe.skipIf(!hasRedis)('with redis-server on the PATH', () => {
  describeBullMQ('BullMQ on Redis', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    return {
      env: { QUEUE_URL: server.url },
      async job(id) {
        const attemptsMade = Number(await redis.hget(`bull:orders:order-${id}`, 'atm'));
        const sets = ['completed', 'failed', 'delayed'];
        const scores = await Promise.all(
          sets.map((set) => redis.zscore(`bull:orders:${set}`, `order-${id}`)),
        );
        return { attemptsMade, state: sets.find((_, at) => scores[at] !== null) ?? 'elsewhere' };
      },
      async removeJob(id) {
        await redis.del(`bull:orders:order-${id}`);
        for (const set of ['completed', 'delayed']) await redis.zrem(`bull:orders:${set}`, `order-${id}`);
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
    default:
      throw new Error(`${key} is a ${type}.`);
  }
}
