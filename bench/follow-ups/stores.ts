import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createJournal, type Journal } from '../../src/stores/index.ts';
import {
  type PooledPostgresClient,
  type PostgresPool,
  postgresJournal,
} from '../../src/stores/postgres/index.ts';
import { CLAIM_DUE, WRITE } from '../../src/stores/redis/scripts.ts';
import { createRedisStore } from '../../src/stores/redis/store.ts';
import { type SqliteDatabase, sqliteJournal } from '../../src/stores/sqlite/index.ts';

/** Where a journal is, for another process. */
export interface StoreAddress {
  kind: 'sqlite' | 'postgres' | 'redis';
  /** A file, or the address of a server. */
  url: string;
  /** The table, or what the names in Redis begin with. */
  name: string;
}

/** What a store was asked for. */
export interface Statements {
  all: number;
  /** Of them, how many waited for the disk. */
  commits: number;
}

/** A journal that another process filled. */
export interface OpenStore extends AsyncDisposable {
  journal: Journal;
  statements: Statements;
}

/** Opens a journal as a merchant does. If `counts`, it counts its statements. */
export async function openStore({ kind, url, name }: StoreAddress, counts = false): Promise<OpenStore> {
  const statements: Statements = { all: 0, commits: 0 };
  if (kind === 'sqlite') {
    const database = new DatabaseSync(url);
    const journal = sqliteJournal(counts ? countSqlite(database, statements) : database, { table: name });
    return { journal, statements, [Symbol.asyncDispose]: async () => database.close() };
  }
  if (kind === 'postgres') {
    const pool = new pg.Pool({ connectionString: url });
    const journal = postgresJournal(counts ? countPostgres(pool, statements) : pool, { table: name });
    return { journal, statements, [Symbol.asyncDispose]: () => pool.end() };
  }
  const redis = new Redis(url);
  const store = createRedisStore((command, ...args) => {
    statements.all += 1;
    // What changes nothing is not written to the disk.
    if (args[0] !== undefined && writingScripts.has(args[0])) statements.commits += 1;
    return redis.call(command, ...args);
  }, `${name}:`);
  return {
    journal: createJournal(store),
    statements,
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  };
}

/** The scripts that change something, by the names that Redis gives them. */
const writingScripts = new Set(
  [WRITE, CLAIM_DUE].map((script) => createHash('sha1').update(script).digest('hex')),
);

function countSqlite(database: DatabaseSync, statements: Statements): SqliteDatabase {
  const count = (sql: string) => {
    statements.all += 1;
    if (sql === 'COMMIT') statements.commits += 1;
  };
  return {
    exec(sql) {
      count(sql);
      database.exec(sql);
    },
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        get(...values) {
          count(sql);
          return statement.get(...values);
        },
        all(...values) {
          count(sql);
          return statement.all(...values);
        },
        run(...values) {
          count(sql);
          return statement.run(...values);
        },
      };
    },
  };
}

function countPostgres(pool: pg.Pool, statements: Statements): PostgresPool {
  const count = (sql: string) => {
    statements.all += 1;
    // Each statement is a transaction of its own.
    if (/\b(?:UPDATE|INSERT)\b/.test(sql)) statements.commits += 1;
  };
  return {
    get idleCount() {
      return pool.idleCount;
    },
    query(sql, values) {
      count(sql);
      return pool.query(sql, values);
    },
    connect(callback) {
      pool.connect((error, client) => callback(error, client && countClient(client, count)));
    },
    on: (event, listener) => pool.on(event, listener),
  };
}

function countClient(client: pg.PoolClient, count: (sql: string) => void): PooledPostgresClient {
  return {
    query(sql, values) {
      count(sql);
      return client.query(sql, values);
    },
    getTransactionStatus: () => client.getTransactionStatus(),
    on: (event, listener) => client.on(event, listener),
    removeListener: (event, listener) => client.removeListener(event, listener),
    release: (destroy) => client.release(destroy),
  };
}
