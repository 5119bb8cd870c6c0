import { Redis } from 'ioredis';
import { redisJournal } from '../../../../src/stores/redis/index.ts';
import { hasRedis, startRedis } from '../../../helpers/databases.ts';
import type { TestDatabase } from '../database.ts';

/** Redis through ioredis. */
export const database: TestDatabase = {
  missing: hasRedis ? undefined : 'redis-server is not on the PATH (Debian: apt-get install redis-server).',

  async start() {
    const { url, takeAway, bringBack, stop } = await startRedis();
    return { place: url, takeAway, bringBack, stop };
  },

  async prepare() {},

  async open(place, options, prefix) {
    // By default a command waits for about 10 seconds until it fails while Redis is away.
    const client = new Redis(place, { maxRetriesPerRequest: 2 });
    // Without a listener, ioredis prints each attempt to connect.
    client.on('error', () => {});
    return { journal: redisJournal(client, { ...options, prefix }), close: async () => client.disconnect() };
  },

  async dump(place) {
    const client = new Redis(place);
    try {
      const keys = await client.keys('*');
      const values = await Promise.all(
        keys.map(async (key) => {
          const type = await client.type(key);
          if (type === 'hash') return JSON.stringify(await client.hgetall(key));
          if (type === 'zset') return JSON.stringify(await client.call('ZRANGE', key, '0', '-1'));
          return String(await client.get(key));
        }),
      );
      return [...keys, ...values].join('\n');
    } finally {
      client.disconnect();
    }
  },
};
