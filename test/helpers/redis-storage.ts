import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Journal } from '../../src/journal/index.ts';
import { type RedisJournalOptions, redisJournal } from '../../src/journal/redis.ts';
import type { DatabaseServer } from './databases.ts';

/** Closed with the test. */
export function connectRedis(server: DatabaseServer, options = ''): Redis {
  const client = new Redis(`${server.url}?${options}`);
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** Creates a storage of the test's own, with handles on it, and a clock that the test sets. */
export function createRedisStorage(server: DatabaseServer, prefix = `${crypto.randomUUID()}:`) {
  const admin = connectRedis(server);
  let ahead = 0;
  const open = (options: RedisJournalOptions = {}): Journal => {
    const client = connectRedis(server);
    const call = async (command: string, script: string | number, ...args: (string | number)[]) => {
      // Redis does not have the script with this clock.
      if (command === 'EVALSHA') throw new Error('NOSCRIPT');
      const time = `local function time()
        local now = redis.call('TIME')
        return {now[1] + ${ahead / 1000}, now[2]}
      end `;
      return await client.call(
        command,
        time + String(script).replaceAll("redis.call('TIME')", 'time()'),
        ...args,
      );
    };
    return redisJournal({ call }, { prefix, ...options });
  };
  return {
    prefix,
    admin,
    open,
    name: (key: string) => prefix + key,
    index: () => admin.zrange(`${prefix}\tindex`, '0', '-1'),
    /** How far the clock of Redis is ahead of the true time, in milliseconds. */
    setAhead(milliseconds: number) {
      ahead = milliseconds;
    },
  };
}
