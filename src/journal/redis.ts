/**
 * At most one charge for each `idempotencyKey`, recorded in Redis, through `ioredis` or `redis`.
 *
 * @module payment-collection-client/journal/redis
 */

import { ConfigurationError } from '../errors.ts';
import { checkedOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import { JournalError } from './journal-error.ts';
import type { JournalStore } from './store.ts';

export type { Journal, JournalOptions } from './journal.ts';

/** What is used of `Redis` of `ioredis`. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** What is used of `createClient` of `redis` (node-redis). */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** What {@link redisJournal} takes besides the client. */
export interface RedisJournalOptions extends JournalOptions {
  /**
   * What each key in Redis begins with.
   *
   * @default 'payments:journal:'
   */
  prefix?: string | undefined;
}

/**
 * A journal in Redis 5 or later, through your own `ioredis` or `redis` client. Each of its steps is one atomic script.
 *
 * **Its promise is as good as Redis keeps what it was told.** With `appendonly yes` and `appendfsync always` a record
 * outlives a crash of the machine; with `everysec` a crash of the machine may lose the last second or so, and with it
 * the knowledge of a charge, while a crash of Redis alone loses nothing; without an append-only file any restart may. A
 * failover to a replica may lose what it had not received. `maxmemory-policy` has to be `noeviction`. Where that cannot
 * be had, take SQLite or PostgreSQL.
 *
 * While Redis is away, both clients keep commands until it is back, and a charge waits as long: set
 * `maxRetriesPerRequest` of `ioredis`, or `disableOfflineQueue` of `redis`, to have it fail instead, with nothing sent.
 * Give the journal a connection of its own, not one on which you use `WATCH` and `MULTI`.
 *
 * @throws ConfigurationError where an option cannot work
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redisJournal } from 'payment-collection-client/journal/redis';
 *
 * const payments = new PaymentsClient({ journal: redisJournal(new Redis()) });
 * ```
 */
export function redisJournal(
  client: IoRedisClient | NodeRedisClient,
  options: RedisJournalOptions = {},
): Journal {
  const { prefix = 'payments:journal:', ...rest } = checkedOptions(options);
  if (typeof prefix !== 'string') throw new ConfigurationError('prefix must be text.');
  return createJournal(redisStore(commandsOf(client), prefix), rest);
}

/**
 * Version, text, and how long ago it was written, in milliseconds by the clock of Redis. Whatever is there without all of
 * them was not left so by the journal, and is given as a record that cannot be read.
 */
const READ = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return false end
if kind ~= 'hash' then return {'', '', ''} end
local found = redis.call('HMGET', KEYS[1], 'version', 'record', 'written_at')
local written_at = tonumber(found[3])
if not (found[1] and found[2] and written_at) then return {'', '', ''} end
local now = redis.call('TIME')
found[3] = tostring(now[1] * 1000 + math.floor(now[2] / 1000) - written_at)
return found`;

/** A key is new where there is nothing at all, and not where a record has lost its version. */
const WRITE = `
local kind = redis.call('TYPE', KEYS[1]).ok
if ARGV[1] == '' then
  if kind ~= 'none' then return 0 end
elseif kind ~= 'hash' or redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
local now = redis.call('TIME')
local written_at = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'record', ARGV[3], 'written_at', written_at)
if ARGV[4] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1`;

function redisStore(command: (...args: string[]) => Promise<unknown>, prefix: string): JournalStore {
  return {
    async read(key) {
      const found = await command('EVAL', READ, '1', prefix + key);
      if (found === null) return null;
      if (!Array.isArray(found)) throw insideMulti();
      const [version, text, age] = found;
      return { version: String(version), text: String(text), age: Number(age) };
    },

    async write(key, { expected, version, text, keepFor }) {
      const lasting = keepFor === null ? '' : String(keepFor);
      const parts = [expected ?? '', version, text, lasting];
      return wasDone(await command('EVAL', WRITE, '1', prefix + key, ...parts));
    },
  };
}

/** A client may be set to give numbers as text. */
function wasDone(answer: unknown): boolean {
  const said = String(answer);
  if (said === '1' || said === '0') return said === '1';
  throw insideMulti();
}

/** Its answer to anything is then `QUEUED`. */
function insideMulti(): JournalError {
  const message = "The journal's client is inside a MULTI: give it a connection of its own.";
  return new JournalError(message, { retryable: true });
}

function commandsOf(client: IoRedisClient | NodeRedisClient): (...args: string[]) => Promise<unknown> {
  if (typeof client === 'object' && client !== null) {
    if ('call' in client) return (command, ...args) => client.call(command ?? '', ...args);
    if ('sendCommand' in client) return (...args) => client.sendCommand(args);
  }
  throw new ConfigurationError('redisJournal takes a client of ioredis or of redis.');
}
