import type { DatabaseSync } from 'node:sqlite';
import { type Cluster, Redis } from 'ioredis';
import { Client, Pool, type PoolClient } from 'pg';
import { createClient, createCluster } from 'redis';
import { expectTypeOf, test } from 'vitest';
import { type JournalCase, journalConformance } from '../../../src/developers/mock/index.ts';
import { createJournal, type Journal, type JournalStore, memoryJournal } from '../../../src/stores/index.ts';
import { type PostgresJournal, postgresJournal } from '../../../src/stores/postgres/index.ts';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { sqliteJournal } from '../../../src/stores/sqlite/index.ts';

declare const database: DatabaseSync;
declare const pooled: PoolClient;
declare const cluster: Cluster;
declare const store: JournalStore;

test('takes the real clients as they are', () => {
  expectTypeOf(sqliteJournal(database)).toEqualTypeOf<Journal>();
  expectTypeOf(postgresJournal(new Pool())).toEqualTypeOf<PostgresJournal>();
  expectTypeOf(postgresJournal(new Client())).toEqualTypeOf<PostgresJournal>();
  expectTypeOf(postgresJournal(pooled)).toEqualTypeOf<PostgresJournal>();
  expectTypeOf(redisJournal(new Redis())).toEqualTypeOf<Journal>();
  expectTypeOf(redisJournal(cluster)).toEqualTypeOf<Journal>();
  expectTypeOf(redisJournal(createClient())).toEqualTypeOf<Journal>();
  expectTypeOf(redisJournal(createClient({ RESP: 3 }))).toEqualTypeOf<Journal>();
  expectTypeOf(redisJournal(createCluster({ rootNodes: [] }))).toEqualTypeOf<Journal>();
});

test('refuses other clients and addresses', () => {
  // @ts-expect-error a pool
  sqliteJournal(new Pool());
  // @ts-expect-error Redis
  postgresJournal(new Redis());
  // @ts-expect-error a database
  redisJournal(database);
  // @ts-expect-error an address
  redisJournal('redis://localhost');
});

test('refuses a misspelt option', () => {
  // @ts-expect-error retention
  memoryJournal({ retentoin: 1 });
  // @ts-expect-error table
  postgresJournal(new Pool(), { tabel: 'journal' });
  // @ts-expect-error Redis has prefixes, not tables.
  redisJournal(new Redis(), { table: 'journal' });
});

test('journalConformance takes a store, with or without close', () => {
  expectTypeOf(journalConformance(() => store)).toEqualTypeOf<JournalCase[]>();
  journalConformance(async (_storage: string) => store);
  journalConformance(() => ({ store }));
  journalConformance(async () => ({ store, close: () => {} }), { without: ['list', 'followUps', 'prune'] });
  // @ts-expect-error claimDue is a part of followUps
  journalConformance(() => store, { without: ['claimDue'] });
  // @ts-expect-error a journal is not a store
  journalConformance(() => createJournal(store));
});
