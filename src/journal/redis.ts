/**
 * At most one charge for each `idempotencyKey`, recorded in Redis, through `ioredis` or `redis`.
 *
 * @module payment-collection-client/journal/redis
 */

import { ConfigurationError } from '../errors.ts';
import { isObject } from '../untrusted.ts';
import { assertOptions, buildJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { durabilityWarnings } from './redis-durability.ts';
import { type Command, createRedisStore } from './redis-store.ts';

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

/** What is used of `createCluster` of `redis` (node-redis). */
export interface NodeRedisCluster {
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
  ): Promise<unknown>;
  /** Only a cluster has it. */
  getRandomNode(): unknown;
}

/** A client of Redis. */
export type RedisClient = IoRedisClient | NodeRedisClient | NodeRedisCluster;

/** What {@link redisJournal} takes besides the client. */
export interface RedisJournalOptions extends JournalOptions {
  /**
   * What each key in Redis begins with. On a Redis Cluster it needs a hash tag, since the records and their index must be on
   * one node: `{payments}:journal:`. Without one nothing can be recorded, and no charge is sent.
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
 * The index of all records is one sorted set, whose name ends in `index`. Do not delete it: `list`, `count` and follow-ups
 * find records through it alone.
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
export function redisJournal(client: RedisClient, options: RedisJournalOptions = {}): Journal {
  const { prefix = 'payments:journal:', ...rest } = assertOptions(options, 'prefix');
  if (typeof prefix !== 'string') throw new ConfigurationError('prefix must be text.');
  const command = toCommand(client);
  return buildJournal(createRedisStore(command, prefix), rest, () => durabilityWarnings(command));
}

function toCommand(client: RedisClient): Command {
  if (isObject(client)) {
    if ('call' in client) return (command, ...args) => client.call(command, ...args);
    // The fourth word of EVAL and EVALSHA is a name. Other commands can go to any node.
    if ('getRandomNode' in client) {
      return (...args) => client.sendCommand(args[0]?.startsWith('EVAL') ? args[3] : undefined, false, args);
    }
    if ('sendCommand' in client) return (...args) => client.sendCommand(args);
  }
  throw new ConfigurationError('redisJournal takes a client of ioredis or of redis.');
}
