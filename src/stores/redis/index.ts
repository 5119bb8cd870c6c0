/**
 * At most one charge for each `idempotencyKey`, recorded in Redis, through `ioredis` or `redis`.
 *
 * @module payment-collection-client/journal/redis
 */

import { ConfigurationError } from '../../errors.ts';
import { assertOptions, buildJournal, type JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import { type RedisClient, toCommand } from './client.ts';
import { readRedisWarnings } from './durability.ts';
import { createRedisStore } from './store.ts';

export type { JournalOptions } from '../../journal/create-journal.ts';
export type { Journal } from '../../journal/journal.ts';
export type { IoRedisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from './client.ts';

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
 * script. Give it a connection of its own, not one on which you use `WATCH` and `MULTI`.
 *
 * **Its promise is only as good as the durability of Redis.** Set `appendonly yes` and `appendfsync always`: otherwise a
 * crash can lose the knowledge of a charge, the key counts as new, and the customer can be charged twice. If you cannot,
 * use SQLite or PostgreSQL. A setting that is not sufficient is a `journal_warning`, if Redis permits `CONFIG GET`.
 * docs/guides/redis.md has the other settings.
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
  return buildJournal(createRedisStore(command, prefix), rest, () => readRedisWarnings(command));
}
