import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, memoryJournal } from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const query = async () => ({ rows: [] });
const mysqlPool = { query, execute: query, getConnection: query, on() {} };
const makers: [string, (options: unknown) => unknown][] = [
  ['memory', (options) => Reflect.apply(memoryJournal, undefined, [options])],
  ['SQLite', (options) => Reflect.apply(sqliteJournal, undefined, [new DatabaseSync(':memory:'), options])],
  ['PostgreSQL', (options) => Reflect.apply(postgresJournal, undefined, [{ query }, options])],
  ['MySQL', (options) => Reflect.apply(mysqlJournal, undefined, [mysqlPool, options])],
  ['Redis', (options) => Reflect.apply(redisJournal, undefined, [{ call: query }, options])],
  ['a store of your own', (options) => Reflect.apply(createJournal, undefined, [memoryStore(), options])],
];

test.each(makers)('refuses options that are not an object: %s', (_kind, make) => {
  for (const options of [null, 17, 'lease', true]) {
    expect(() => make(options)).toThrow(ConfigurationError);
    expect(() => make(options)).toThrow('The options of a journal must be an object');
  }
  expect(getRecords(make(undefined))).toMatchObject({ lease: 10_000 });
  expect(getRecords(make({ lease: 500 }))).toMatchObject({ lease: 500 });
});

test.each(makers)('refuses an unknown option, and names the nearest: %s', (_kind, make) => {
  expect(() => make({ leese: 1 })).toThrow(ConfigurationError);
  expect(() => make({ leese: 1 })).toThrow('Unknown option "leese". Did you mean lease?');
});

test.each([
  ['SQLite', 'tables', 'table'],
  ['PostgreSQL', 'tables', 'table'],
  ['MySQL', 'tables', 'table'],
  ['Redis', 'prefx', 'prefix'],
  ['memory', 'stor', 'store'],
])('names the own option of a journal that is misspelt: %s', (kind, given, meant) => {
  const make = makers.find(([name]) => name === kind)?.[1];
  expect(() => make?.({ [given]: 'x' })).toThrow(`Unknown option "${given}". Did you mean ${meant}?`);
});

test.each([null, undefined, 17, {}, { read: query }, { write: query }])('refuses %j as a store', (store) => {
  const make = () => Reflect.apply(createJournal, undefined, [store]);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow('createJournal takes a JournalStore');
});

describe.each([
  ['memory', () => memoryJournal()],
  ['SQLite', () => sqliteJournal(new DatabaseSync(':memory:'))],
])('a journal in %s', (_kind, open) => {
  test.each([17n, 17, null, undefined, Symbol('odd'), {}])(
    'refuses to resolve %s with a JournalError',
    async (key) => {
      const journal = open();
      const resolving = async () => Reflect.apply(journal.resolve, journal, [key, 'not_charged', note]);
      expect(await catchError(resolving())).toBeInstanceOf(JournalError);
    },
  );
});

test.each([99, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '5000', null])(
  'the lease cannot be %j',
  (lease) => {
    const options: object = { lease };
    expect(() => memoryJournal(options)).toThrow('lease must be milliseconds, at least 100 and under 2^31.');
  },
);

test('memoryJournal shares no records unless it is given a store', async () => {
  await claimKey(memoryJournal(), 'order-17');
  expect(await memoryJournal().read('order-17')).toBeNull();
  const store = memoryStore();
  await claimKey(memoryJournal({ store }), 'order-17');
  expect(await memoryJournal({ store }).read('order-17')).toMatchObject({ state: 'begun' });
});
