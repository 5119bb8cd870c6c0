import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import {
  createJournal,
  type JournalStore,
  memoryStore,
  type RecordChange,
  type RecordWrite,
} from '../../../src/journal/index.ts';
import { Records } from '../../../src/journal/records.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { nextTurn } from '../../../src/timing.ts';
import { change, claimKey } from '../../helpers/claims.ts';
import { catchError } from '../../helpers/service.ts';

/** A store whose statements end when the test says so. */
function createHeldStore(groupResults: (writes: readonly RecordWrite[]) => (boolean | undefined)[]) {
  const statements: { keys: string[]; end: () => void }[] = [];
  const hold = (keys: string[]) => new Promise<void>((end) => statements.push({ keys, end }));
  const store: JournalStore = {
    read: async () => ({ record: null, now: 0 }),
    write: async (key) => {
      await hold([key]);
      return true;
    },
    writeAll: async (writes) => {
      await hold(writes.map(({ key }) => key));
      return groupResults(writes);
    },
  };
  const keys = () => statements.map((statement) => statement.keys);
  const endAll = async () => {
    for (const { end } of statements) end();
    await nextTurn();
  };
  return { store, keys, endAll };
}

const writeText = (store: JournalStore, key: string, change: RecordChange) =>
  new Records(store, 10_000).writeText(key, change);

let versions = 0;
const newChange = (mustCommit = true) => {
  const version = `version.${++versions}`;
  return { expected: null, version, text: '{}', mustCommit, index: null };
};

function fakeEveryTimer(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('sends a write at once, and those that come meanwhile together', async () => {
  // On a slow machine, the hold of a group must not end.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, keys, endAll } = createHeldStore((writes) => writes.map(({ key }) => key !== 'c'));
  const written = ['a', 'b', 'c', 'd'].map((key) => writeText(store, key, newChange()));
  expect(keys()).toEqual([['a']]);
  await nextTurn();
  await endAll();
  expect(keys()).toEqual([['a'], ['b', 'c', 'd']]);
  await endAll();
  expect(await Promise.all(written)).toEqual([true, true, false, true]);
  const lone = writeText(store, 'e', newChange());
  expect(keys().at(-1)).toEqual(['e']);
  await endAll();
  expect(await lone).toBe(true);
});

test('writes one after the other although every timer is fake', async () => {
  fakeEveryTimer();
  const { store, keys, endAll } = createHeldStore(() => []);
  for (const key of ['a', 'b', 'c']) {
    const written = writeText(store, key, newChange());
    await nextTurn();
    await endAll();
    expect(await written).toBe(true);
  }
  expect(keys()).toEqual([['a'], ['b'], ['c']]);
});

test('writes a key once in each group, and no transaction holds both kinds', async () => {
  fakeEveryTimer();
  const { store, keys, endAll } = createHeldStore((writes) => writes.map(() => true));
  const written = ['first', 'a', 'b'].map((key) => writeText(store, key, newChange()));
  written.push(writeText(store, 'c', newChange(false)), writeText(store, 'd', newChange(false)));
  const repeated = ['a', 'b', 'a'].map((key) => writeText(store, key, newChange()));
  await nextTurn();
  await endAll();
  // None of one key waits for another one.
  expect(keys()).toEqual([['first'], ['a', 'b'], ['a'], ['b'], ['a']]);
  await endAll();
  expect(keys().slice(5)).toEqual([['c', 'd']]);
  await endAll();
  expect(await Promise.all([...written, ...repeated])).toEqual(Array(8).fill(true));
});

test('writes the next group after 100 ms, if one hangs', async () => {
  fakeEveryTimer();
  const { store, keys, endAll } = createHeldStore((writes) => writes.map(() => true));
  void writeText(store, 'hangs', newChange());
  void ['a', 'b'].map((key) => writeText(store, key, newChange()));
  await vi.advanceTimersByTimeAsync(99);
  expect(keys()).toEqual([['hangs']]);
  await vi.advanceTimersByTimeAsync(1);
  expect(keys()).toEqual([['hangs'], ['a', 'b']]);
  const written = writeText(store, 'a', newChange());
  await vi.advanceTimersByTimeAsync(100);
  expect(keys()).toEqual([['hangs'], ['a', 'b'], ['a']]);
  await endAll();
  expect(await written).toBe(true);
});

test('writes what a group leaves over after 100 ms, if that group hangs', async () => {
  fakeEveryTimer();
  const { store, keys } = createHeldStore(() => []);
  for (let index = 0; index <= 102; index++) void writeText(store, `order-${index}`, newChange());
  const countWrites = () => keys().map(({ length }) => length);
  await vi.advanceTimersByTimeAsync(100);
  expect(countWrites()).toEqual([1, 100]);
  await vi.advanceTimersByTimeAsync(100);
  expect(countWrites()).toEqual([1, 100, 2]);
});

test('writes alone what a group did not try, and what a store groups wrongly', async () => {
  for (const results of [[undefined, true], [], ['yes', 1], null]) {
    const { write, read } = memoryStore();
    const alone: string[] = [];
    const store = {
      read,
      write: (key: string, change: RecordWrite['change']) => {
        alone.push(key);
        return write(key, change);
      },
      writeAll: async (writes: readonly RecordWrite[]) => {
        for (const [place, { key, change }] of writes.entries())
          if (results?.[place] === true) await write(key, change);
        return results;
      },
    };
    const given: object = store;
    const keys = ['first', 'a', 'b'];
    const written = keys.map((key) => Reflect.apply(writeText, undefined, [given, key, newChange()]));
    expect(await Promise.all(written)).toEqual([true, true, true]);
    for (const key of keys) expect((await read(key)).record).not.toBeNull();
    expect(alone).toContain('a');
  }
});

test('gives each write its own error', async () => {
  const { write, read } = memoryStore();
  const store: JournalStore = {
    read,
    write: (key, change) => (key === 'bad' ? Promise.reject(new Error('too long')) : write(key, change)),
    writeAll: () => Promise.reject(new Error('one of them is too long')),
  };
  const first = writeText(store, 'first', newChange());
  const good = writeText(store, 'good', newChange());
  const bad = catchError(writeText(store, 'bad', newChange()));
  expect(await Promise.all([first, good])).toEqual([true, true]);
  expect(await bad).toMatchObject({ name: 'JournalError', message: expect.stringContaining('(too long)') });
});

test('keeps charges apart on a store with writeAll', async () => {
  const { write, ...store } = memoryStore();
  const journal = createJournal({
    ...store,
    write,
    writeAll: (writes) => Promise.all(writes.map(({ key, change }) => write(key, change))),
  });
  await claimKey(journal, 'order-0');
  const keys = Array.from({ length: 10 }, (_, index) => `order-${index % 5}`);
  const ends = await Promise.allSettled(keys.map((key) => claimKey(journal, key)));
  expect(ends.map(({ status }) => status).sort()).toEqual([
    ...Array(4).fill('fulfilled'),
    ...Array(6).fill('rejected'),
  ]);
});

test('writes to SQLite in one transaction what comes in one turn', async () => {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  const statements: string[] = [];
  const counting = {
    exec: (sql: string) => {
      statements.push(sql);
      return database.exec(sql);
    },
    prepare: (sql: string) => database.prepare(sql),
  };
  const journal = sqliteJournal(counting);
  await claimKey(journal, 'order-0');
  await nextTurn();
  await nextTurn();
  statements.length = 0;
  const keys = Array.from({ length: 11 }, (_, index) => `order-${index}`);
  // Each callback is a task of its own, as the responses of several sockets are. All run in one turn.
  const claimInTask = (key: string) =>
    new Promise((resolve) => setImmediate(resolve)).then(() => claimKey(journal, key));
  const ends = await Promise.allSettled(keys.map(claimInTask));
  expect(ends.map(({ status }) => status)).toEqual(['rejected', ...Array(10).fill('fulfilled')]);
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'BEGIN IMMEDIATE', 'COMMIT']);
});

test('counts the writes of a group whose response was lost', async () => {
  const store = memoryStore();
  const lossy = createJournal({
    ...store,
    async writeAll(writes) {
      for (const { key, change: given } of writes) await store.write(key, given);
      throw new Error('the response was lost');
    },
  });
  const writing = ['first', 'second', 'third'].map((key) =>
    getRecords(lossy).writeText(key, { ...change, version: `of ${key}` }),
  );
  expect(await Promise.all(writing)).toEqual([true, true, true]);
});
