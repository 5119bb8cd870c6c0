/**
 * At most one charge for each `idempotencyKey`, recorded in Redis, through `ioredis` or `redis`.
 *
 * @module payment-collection-client/journal/redis
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { isObject } from '../untrusted.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal, JournalWarning } from './journal.ts';
import { MAX_CLOCK_STEP, RETENTION_MARGIN } from './retention.ts';
import type { JournalStore } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';

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
 * Makes a journal in Redis 5 or later, through your own `ioredis` or `redis` client. Each of its steps is one atomic
 * script.
 *
 * **Its promise is only as good as the durability of Redis.** Set `appendonly yes` and `appendfsync always`: a record then
 * survives a crash of Redis and of the machine. With `everysec` Redis replies before it has written. A crash of Redis
 * alone, or of the machine, can then lose the last second or more, and with it the knowledge of a charge: the key counts
 * as new, and the customer can be charged twice. With a slow disk it is more than a second. Without an append-only file
 * any restart can lose it. A failover to a replica can lose what the replica had not received. `maxmemory-policy` must
 * not be one of `allkeys-…`. If you cannot have that, use SQLite or PostgreSQL.
 *
 * If Redis permits `CONFIG GET`, the journal reads these settings once. The client then reports each that is not
 * sufficient as a `journal_warning`, to `onEvent` and `logger`. Many managed services forbid it: check there yourself.
 *
 * While Redis is unreachable, both clients queue commands until it is back, and a charge waits as long. To have the charge
 * fail instead, with nothing sent, set `maxRetriesPerRequest` of `ioredis`, or `disableOfflineQueue` of `redis`. Give the
 * journal a connection of its own, not one on which you use `WATCH` and `MULTI`.
 *
 * @throws {ConfigurationError} if an option cannot work.
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
 * Returns version, text, and the age in milliseconds by the clock of Redis. A value without all of them is not the journal's
 * own, and is returned as a record that cannot be read.
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

/** A key is new only if there is nothing at all: a record that has lost its version is not new. */
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
 * Counts the time, and stores when the record of a key expires. Returns the counted time, and ten keys whose records have
 * expired by it. Redis's own expiry goes by its clock, which might be wrong.
 */
const COUNT_TIME = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'counted', 'told_at')
local counted = tonumber(found[1] or '') or 0
counted = counted + math.min(now - (tonumber(found[2] or '') or now), ${MAX_CLOCK_STEP})
local text = string.format('%.0f', counted)
redis.call('HSET', KEYS[1], 'counted', text, 'told_at', string.format('%.0f', now))
local kept_until = string.format('%.0f', counted + tonumber(ARGV[2]))
redis.call('ZADD', KEYS[2], kept_until, ARGV[1])
return {text, kept_until, unpack(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', text, 'LIMIT', 0, 10))}`;

/** The list of keys can be out of date: the record itself decides. */
const DELETE_EXPIRED = `
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local kept_until = tonumber(redis.call('HGET', KEYS[1], 'kept_until') or '')
if kept_until and kept_until <= tonumber(ARGV[1]) then redis.call('DEL', KEYS[1]) end
return 1`;

/** Takes keys whose records have expired off the list. */
const FORGET_KEYS = `
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

    async write(key, { expected, version, text, ttl }) {
      // If the time cannot be counted, the record is kept for ever.
      const time =
        ttl === null ? undefined : await countTime(command, prefix, key, ttl).catch(() => undefined);
      const values = [expected ?? '', version, text, time?.keptUntil ?? ''];
      const isWritten = parseWriteReply(await command('EVAL', WRITE, '1', prefix + key, ...values));
      // In the background: the write does not wait for it.
      if (time && time.expiredKeys.length > 0) deleteExpired(command, prefix, time).catch(() => {});
      return isWritten;
    },
  };
}

interface CountedTime {
  readonly now: string;
  readonly keptUntil: string;
  /** Keys whose records can be deleted. */
  readonly expiredKeys: string[];
}

/** In a cluster both are on one node. No idempotency key has a control character, so none has these names. */
const timeName = (prefix: string) => `${prefix}\t{retention}:time`;
const keysName = (prefix: string) => `${prefix}\t{retention}:keys`;

async function countTime(
  command: Command,
  prefix: string,
  key: string,
  ttl: number,
): Promise<CountedTime | undefined> {
  const names = [timeName(prefix), keysName(prefix)];
  const reply = await command('EVAL', COUNT_TIME, '2', ...names, key, String(ttl + RETENTION_MARGIN));
  if (!Array.isArray(reply)) return undefined;
  const [now = '', keptUntil = '', ...expiredKeys] = reply.map(String);
  return { now, keptUntil, expiredKeys };
}

async function deleteExpired(
  command: Command,
  prefix: string,
  { now, expiredKeys }: CountedTime,
): Promise<void> {
  await Promise.all(expiredKeys.map((key) => command('EVAL', DELETE_EXPIRED, '1', prefix + key, now)));
  await command('EVAL', FORGET_KEYS, '1', keysName(prefix), now, ...expiredKeys);
}

/** A client can be set to return numbers as text. */
function parseWriteReply(reply: unknown): boolean {
  const text = String(reply);
  if (text === '1' || text === '0') return text === '1';
  throw multiError();
}

/** Inside a MULTI, Redis replies `QUEUED` to any command. */
function multiError(): JournalError {
  const message = "The journal's client is inside a MULTI: give it a connection of its own.";
  return new JournalError(message, { retryable: true });
}

function toCommand(client: IoRedisClient | NodeRedisClient): Command {
  if (isObject(client)) {
    if ('call' in client) return (command, ...args) => client.call(command ?? '', ...args);
    if ('sendCommand' in client) return (...args) => client.sendCommand(args);
  }
  throw new ConfigurationError('redisJournal takes a client of ioredis or of redis.');
}

/**
 * Returns the settings of Redis with which a record could be lost. A setting that cannot be read is not a warning: managed
 * services often forbid CONFIG.
 */
export async function durabilityWarnings(
  command: (...args: string[]) => Promise<unknown>,
): Promise<JournalWarning[]> {
  const read = async (setting: string) => {
    const reply = await command('CONFIG', 'GET', setting).catch(() => undefined);
    const value = parseSetting(reply, setting);
    return value === undefined ? [] : [{ setting, value }];
  };
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map(read),
  );
  return [
    ...warnIf(
      appendonly,
      (value) => value !== 'yes',
      'any restart of Redis can lose the record of a charge',
      'yes',
    ),
    ...warnIf(
      // Without the append-only file it has no effect.
      appendonly?.some(({ value }) => value !== 'yes') ? [] : appendfsync,
      (value) => value !== 'always',
      'a crash of Redis or of the machine can lose the record of a charge',
      'always',
    ),
    // The other policies drop only keys with an expiry, which no record has.
    ...warnIf(
      policy,
      (value) => value.startsWith('allkeys-'),
      'Redis drops records when its memory is full',
      'noeviction',
    ),
  ];
}

interface Setting {
  readonly setting: string;
  readonly value: string;
}

function warnIf(
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

/** Clients return a list of names and values, or a map of them. */
function parseSetting(reply: unknown, setting: string): string | undefined {
  const value = Array.isArray(reply)
    ? reply[reply.indexOf(setting) + 1]
    : reply instanceof Map
      ? reply.get(setting)
      : Object(reply)[setting];
  return typeof value === 'string' ? value : undefined;
}
