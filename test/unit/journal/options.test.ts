import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, memoryJournal } from '../../../src/stores/index.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { mysqlJournal } from '../../../src/stores/mysql/index.ts';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  postgresJournal,
  postgresSchema,
} from '../../../src/stores/postgres/index.ts';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { sqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const query = async () => ({ rows: [] });
const file = new DatabaseSync(':memory:');
const mysqlPool = { query, execute: query, getConnection: query, on() {} };
const call = (make: unknown, ...values: unknown[]) =>
  typeof make === 'function' && Reflect.apply(make, undefined, values);

const makers: [kind: string, make: (options?: unknown) => unknown, own?: string, misspelt?: string][] = [
  ['memory', (options) => call(memoryJournal, options), 'store', 'stor'],
  ['SQLite', (options) => call(sqliteJournal, file, options), 'table', 'tables'],
  ['PostgreSQL', (options) => call(postgresJournal, { query }, options), 'table', 'tables'],
  ['MySQL', (options) => call(mysqlJournal, mysqlPool, options), 'table', 'tables'],
  ['Redis', (options) => call(redisJournal, { call: query }, options), 'prefix', 'prefx'],
  ['a store of your own', (options) => call(createJournal, memoryStore(), options)],
];

test.each(makers)('refuses options of a journal that cannot work: %s', (_kind, make, own, misspelt) => {
  for (const [options, message] of [
    ...[null, 17, 'lease', true].map(
      (wrong) => [wrong, 'The options of a journal must be an object'] as const,
    ),
    [{ leese: 1 }, 'Unknown option "leese". Did you mean lease?'],
    ...(own && misspelt ? [[{ [misspelt]: 'x' }, `"${misspelt}". Did you mean ${own}?`] as const] : []),
    ...[99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null].map(
      (lease) => [{ lease }, 'lease must be milliseconds, at least 100 and under 2^31.'] as const,
    ),
  ] as const) {
    expect(() => make(options)).toThrow(ConfigurationError);
    expect(() => make(options)).toThrow(message);
  }
  expect(getRecords(make())).toMatchObject({ lease: 10_000 });
  expect(getRecords(make({ lease: 500 }))).toMatchObject({ lease: 500 });
});

const names = ['', 'a b', 'a;b', '1st', 'a"b', 'a\n', 17];
const plainNames = [...names, 'Journal', 'a.b.c', '.a', "a'b", 'a'.repeat(52)];

test.each<[string, (table: unknown) => unknown, unknown[]]>([
  ['sqliteJournal', (table) => call(sqliteJournal, file, { table }), [...names, 'main.journal']],
  ['postgresJournal', (table) => call(postgresJournal, { query }, { table }), plainNames],
  ['postgresSchema', (table) => call(postgresSchema, table), plainNames],
])('%s refuses a table without a plain name', (_function, make, tables) => {
  for (const table of tables) expect(() => make(table), String(table)).toThrow('table must be a plain name');
});

const none = [undefined, null, {}, 'postgres://localhost'];
const libsqlClient = { batch() {}, execute() {} };
const d1Binding = { batch() {}, exec() {}, prepare() {} };
const libsqlDatabase = { exec() {}, prepare() {}, syncUntil() {} };
const sql = Object.assign(() => {}, { unsafe: () => {}, begin: () => {} });
const neon = Object.assign(() => {}, { unsafe: () => {}, query: () => {}, transaction: () => {} });

test.each<[message: string, make: unknown, clients: unknown[]]>([
  ['createJournal takes a JournalStore', createJournal, [...none, 17, { read: query }, { write: query }]],
  [
    'sqliteJournal takes a database of node:sqlite, better-sqlite3 or bun:sqlite',
    sqliteJournal,
    [...none, libsqlClient, d1Binding, libsqlDatabase],
  ],
  ['redisJournal takes a client of ioredis or of redis.', redisJournal, none],
  ['postgresJournal takes a Pool or a Client of pg.', postgresJournal, none],
  ['fromPostgresJs takes', fromPostgresJs, none],
  ['fromPrisma takes', fromPrisma, none],
  ['fromQuery takes', fromQuery, none],
  ['Use fromPostgresJs(sql).', postgresJournal, [sql]],
  ['Use fromPrisma(prisma).', postgresJournal, [{ $queryRawUnsafe: () => {}, $executeRawUnsafe: () => {} }]],
  [
    // Drizzle, Kysely, PGlite and the HTTP client of Neon.
    'Use fromQuery(',
    postgresJournal,
    [{ query: {}, execute: () => {} }, { executeQuery: () => {} }, { query: () => {}, exec: () => {} }, neon],
  ],
])('refuses another client: "%s"', (message, make, clients) => {
  for (const client of clients) {
    expect(() => call(make, client)).toThrow(ConfigurationError);
    expect(() => call(make, client)).toThrow(message);
  }
});

test.each([17n, 17, null, undefined, Symbol('odd'), {}])('refuses to resolve the key %s', async (key) => {
  const resolving = async () => call(memoryJournal().resolve, key, 'not_charged', note);
  expect(await catchError(resolving())).toBeInstanceOf(JournalError);
});

test('memoryJournal shares no records unless it is given a store', async () => {
  await claimKey(memoryJournal(), 'order-17');
  expect(await memoryJournal().read('order-17')).toBeNull();
  const store = memoryStore();
  await claimKey(memoryJournal({ store }), 'order-17');
  expect(await memoryJournal({ store }).read('order-17')).toMatchObject({ state: 'begun' });
});
