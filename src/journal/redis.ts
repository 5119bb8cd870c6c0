/**
 * At most one charge for each `idempotencyKey`, recorded in Redis, through `ioredis` or `redis`.
 *
 * @module payment-collection-client/journal/redis
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import type { JournalWarning } from './journal.ts';
import { assertOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import type { JournalStore } from './store.ts';
import { LONGEST_STEP, MARGIN } from './store.ts';

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
 * **Its promise is as good as Redis keeps what it was told.** Set `appendonly yes` and `appendfsync always`: a record then
 * outlives a crash of Redis and of the machine. With `everysec` Redis answers before it has written. A crash of Redis
 * alone, or of the machine, can then lose the last second or more, and with it the knowledge of a charge: the key counts
 * as new, and the customer can be charged twice. With a slow disk it is more than a second. Without an append-only file
 * any restart can lose it. A failover to a replica can lose what the replica had not received. `maxmemory-policy` must
 * not be one of `allkeys-…`. If you cannot have that, use SQLite or PostgreSQL.
 *
 * If Redis permits `CONFIG GET`, the journal reads these settings once. The client then reports each that is not
 * sufficient as a `journal_warning`, to `onEvent` and `logger`. Many managed services forbid it: check there yourself.
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
  const { prefix = 'payments:journal:', ...rest } = assertOptions(options);
  if (typeof prefix !== 'string') throw new ConfigurationError('prefix must be text.');
  const command = toCommand(client);
  const journal = createJournal(redisStore(command, prefix), rest);
  return Object.assign(journal, { warnings: () => durabilityWarnings(command) });
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
if ARGV[4] == '' then redis.call('HDEL', KEYS[1], 'kept_until') else redis.call('HSET', KEYS[1], 'kept_until', ARGV[4]) end
redis.call('PERSIST', KEYS[1])
return 1`;

/**
 * Records how far the counted time is, and when the record of a key may go; gives the counted time, and ten keys whose
 * records may go by it. An expiry of Redis itself would go by its clock, which may be wrong.
 */
const COUNT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'counted', 'told_at')
local counted = tonumber(found[1] or '') or 0
counted = counted + math.min(now - (tonumber(found[2] or '') or now), ${LONGEST_STEP})
local text = string.format('%.0f', counted)
redis.call('HSET', KEYS[1], 'counted', text, 'told_at', string.format('%.0f', now))
local kept_until = string.format('%.0f', counted + tonumber(ARGV[2]))
redis.call('ZADD', KEYS[2], kept_until, ARGV[1])
return {text, kept_until, unpack(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', text, 'LIMIT', 0, 10))}`;

/** What the list of keys says may be out of date: the record itself decides. */
const DROP = `
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local kept_until = tonumber(redis.call('HGET', KEYS[1], 'kept_until') or '')
if kept_until and kept_until <= tonumber(ARGV[1]) then redis.call('DEL', KEYS[1]) end
return 1`;

const FORGET = `
for index = 2, #ARGV do
  local kept_until = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[index]) or '')
  if kept_until and kept_until <= tonumber(ARGV[1]) then redis.call('ZREM', KEYS[1], ARGV[index]) end
end
return 1`;

type Command = (...args: string[]) => Promise<unknown>;

function redisStore(command: Command, prefix: string): JournalStore {
  return {
    async read(key) {
      const found = await command('EVAL', READ, '1', prefix + key);
      if (found === null) return null;
      if (!Array.isArray(found)) throw multiError();
      const [version, text, age] = found;
      return { version: String(version), text: String(text), age: Number(age) };
    },

    async write(key, { expected, version, text, ttl: keepFor }) {
      // Where it cannot be counted, the record is kept for ever.
      const time =
        keepFor === null ? undefined : await count(command, prefix, key, keepFor).catch(() => undefined);
      const parts = [expected ?? '', version, text, time?.keptUntil ?? ''];
      const written = parseWriteReply(await command('EVAL', WRITE, '1', prefix + key, ...parts));
      // Nobody waits for it.
      if (time && time.old.length > 0) drop(command, prefix, time).catch(() => {});
      return written;
    },
  };
}

interface Counted {
  readonly now: string;
  readonly keptUntil: string;
  /** Keys whose records may go. */
  readonly old: string[];
}

/** In a cluster both are on one node. No idempotency key has a control character, so none has these names. */
const timeOf = (prefix: string) => `${prefix}\t{retention}:time`;
const keysOf = (prefix: string) => `${prefix}\t{retention}:keys`;

async function count(
  command: Command,
  prefix: string,
  key: string,
  keepFor: number,
): Promise<Counted | undefined> {
  const names = [timeOf(prefix), keysOf(prefix)];
  const counted = await command('EVAL', COUNT, '2', ...names, key, String(keepFor + MARGIN));
  if (!Array.isArray(counted)) return undefined;
  const [now = '', keptUntil = '', ...old] = counted.map(String);
  return { now, keptUntil, old };
}

async function drop(command: Command, prefix: string, { now, old }: Counted): Promise<void> {
  await Promise.all(old.map((key) => command('EVAL', DROP, '1', prefix + key, now)));
  await command('EVAL', FORGET, '1', keysOf(prefix), now, ...old);
}

/** A client may be set to give numbers as text. */
function parseWriteReply(answer: unknown): boolean {
  const said = String(answer);
  if (said === '1' || said === '0') return said === '1';
  throw multiError();
}

/** Its answer to anything is then `QUEUED`. */
function multiError(): JournalError {
  const message = "The journal's client is inside a MULTI: give it a connection of its own.";
  return new JournalError(message, { retryable: true });
}

function toCommand(client: IoRedisClient | NodeRedisClient): Command {
  if (typeof client === 'object' && client !== null) {
    if ('call' in client) return (command, ...args) => client.call(command ?? '', ...args);
    if ('sendCommand' in client) return (...args) => client.sendCommand(args);
  }
  throw new ConfigurationError('redisJournal takes a client of ioredis or of redis.');
}

/**
 * The settings of Redis with which a record could be lost. What Redis does not tell is no warning: managed services often
 * forbid CONFIG.
 */
export async function durabilityWarnings(
  command: (...args: string[]) => Promise<unknown>,
): Promise<JournalWarning[]> {
  const read = async (setting: string) => {
    const reply = await command('CONFIG', 'GET', setting).catch(() => undefined);
    const value = valueFrom(reply, setting);
    return value === undefined ? [] : [{ setting, value }];
  };
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map(read),
  );
  const warnings = [
    ...warn(
      appendonly,
      (value) => value !== 'yes',
      'any restart of Redis can lose the record of a charge',
      'yes',
    ),
    ...warn(
      // Without the file it has no effect.
      appendonly?.some(({ value }) => value !== 'yes') ? [] : appendfsync,
      (value) => value !== 'always',
      'a crash of Redis or of the machine can lose the record of a charge',
      'always',
    ),
    // The others drop keys with an expiry only, which no record has.
    ...warn(
      policy,
      (value) => value.startsWith('allkeys-'),
      'Redis drops records when its memory is full',
      'noeviction',
    ),
  ];
  return warnings;
}

interface Setting {
  readonly setting: string;
  readonly value: string;
}

function warn(
  settings: Setting[] | undefined,
  isInsufficient: (value: string) => boolean,
  loss: string,
  instead: string,
): JournalWarning[] {
  return (settings ?? [])
    .filter(({ value }) => isInsufficient(value))
    .map(({ setting, value }) => ({
      setting,
      value,
      message: `The journal's Redis has ${setting} ${value}: ${loss}, and a customer could be charged twice. Set ${setting} ${instead}.`,
    }));
}

/** Clients give a list of names and values, or a map of them. */
function valueFrom(reply: unknown, setting: string): string | undefined {
  const value = Array.isArray(reply)
    ? reply[reply.indexOf(setting) + 1]
    : reply instanceof Map
      ? reply.get(setting)
      : Object(reply)[setting];
  return typeof value === 'string' ? value : undefined;
}
