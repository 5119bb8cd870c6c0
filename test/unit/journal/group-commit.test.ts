import { beforeEach, expect, test, vi } from 'vitest';
import { Records } from '../../../src/journal/records.ts';
import { type JournalStore, memoryStore, type RecordWrite } from '../../../src/stores/index.ts';
import { nextTurn } from '../../../src/support/timing.ts';
import { catchError } from '../../helpers/service.ts';
import { createChange } from '../../helpers/store-writes.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  return () => vi.useRealTimers();
});

type Group = NonNullable<JournalStore['writeAll']>;

/** A store whose statements end when the test says so. */
function createHeldStore(writeAll: (writes: readonly RecordWrite[]) => (boolean | undefined)[]) {
  const statements: { keys: string[]; end: () => void }[] = [];
  const hold = (keys: string[]) => new Promise<void>((end) => statements.push({ keys, end }));
  const store: JournalStore = {
    read: async () => ({ record: null, now: 0 }),
    write: (key) => hold([key]).then(() => true),
    writeAll: (writes) => hold(writes.map(({ key }) => key)).then(() => writeAll(writes)),
  };
  return {
    write: (key: string, mustCommit = true) => writeText(store, key, mustCommit),
    keys: () => statements.map((statement) => statement.keys),
    async endAll() {
      for (const { end } of statements) end();
      await nextTurn();
    },
  };
}

const writeText = (store: JournalStore, key: string, mustCommit = true) =>
  new Records(store, 10_000).compareAndSwap(key, createChange({ index: null, mustCommit }));

test('sends a write at once, and those that come meanwhile together', async () => {
  const { write, keys, endAll } = createHeldStore((writes) => writes.map(({ key }) => key !== 'c'));
  const written = ['a', 'b', 'c', 'd'].map((key) => write(key));
  expect(keys()).toEqual([['a']]);
  await nextTurn();
  await endAll();
  expect(keys()).toEqual([['a'], ['b', 'c', 'd']]);
  await endAll();
  expect(await Promise.all(written)).toEqual([true, true, false, true]);
  for (const key of ['e', 'f']) {
    const lone = write(key);
    expect(keys().at(-1)).toEqual([key]);
    await nextTurn();
    await endAll();
    expect(await lone).toBe(true);
  }
});

test('a write that travels alone, and finds a record, is not done', async () => {
  const store = memoryStore();
  expect(await writeText(store, 'a')).toBe(true);
  const writeAll = async (writes: readonly RecordWrite[]) => writes.map(() => true);
  expect(await writeText({ ...store, writeAll }, 'a')).toBe(false);
});

test('writes a key once in each group, and no transaction holds both kinds', async () => {
  const { write, keys, endAll } = createHeldStore((writes) => writes.map(() => true));
  const written = ['first', 'a', 'b'].map((key) => write(key));
  written.push(...['c', 'd'].map((key) => write(key, false)), ...['a', 'b', 'a'].map((key) => write(key)));
  await nextTurn();
  await endAll();
  // None of one key waits for another one.
  expect(keys()).toEqual([['first'], ['a', 'b'], ['a'], ['b'], ['a']]);
  await endAll();
  expect(keys().slice(5)).toEqual([['c', 'd']]);
  await endAll();
  expect(await Promise.all(written)).toEqual(Array(8).fill(true));
});

test('writes the next group after 100 ms, if one hangs, and what a full one leaves over', async () => {
  const { write, keys, endAll } = createHeldStore((writes) => writes.map(() => true));
  const countWrites = () => keys().map(({ length }) => length);
  void write('hangs');
  for (let index = 0; index < 102; index++) void write(`order-${index}`);
  await vi.advanceTimersByTimeAsync(99);
  expect(countWrites()).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(countWrites()).toEqual([1, 100]);
  await vi.advanceTimersByTimeAsync(100);
  expect(countWrites()).toEqual([1, 100, 2]);
  const written = write('a');
  await vi.advanceTimersByTimeAsync(100);
  expect(countWrites()).toEqual([1, 100, 2, 1]);
  await endAll();
  expect(await written).toBe(true);
});

test.each<
  [what: string, group: (write: JournalStore['write']) => (...given: Parameters<Group>) => Promise<unknown>]
>([
  [
    'has not tried one',
    (write) =>
      async ([first, ...others]) => {
        const results = others.map(({ key, change }) => write(key, change));
        return [first && undefined, ...(await Promise.all(results))];
      },
  ],
  ['returns no result', () => async () => []],
  ['returns null', () => async () => null],
  ['returns what is no boolean', () => async () => ['yes', 1]],
  ['rejects', () => () => Promise.reject(new Error('one of them is too long'))],
  [
    'loses the response',
    (write) => async (writes) => {
      for (const { key, change } of writes) await write(key, change);
      throw new Error('the response was lost');
    },
  ],
])('writes alone what a group might not have written, if it %s', async (_what, toGroup) => {
  const { write, read } = memoryStore();
  const store: object = { read, write, writeAll: toGroup(write) };
  const keys = ['first', 'a', 'b'];
  const written = keys.map((key) => Reflect.apply(writeText, undefined, [store, key]));
  expect(await Promise.all(written)).toEqual([true, true, true]);
  for (const key of keys) expect((await read(key)).record).not.toBeNull();
});

test('gives each write of a group that fails its own error', async () => {
  const { write, ...store } = memoryStore();
  const failing: JournalStore = {
    ...store,
    write: (key, change) => (key === 'bad' ? Promise.reject(new Error('too long')) : write(key, change)),
    writeAll: () => Promise.reject(new Error('one of them is too long')),
  };
  const [, good, bad] = ['first', 'good', 'bad'].map((key) => writeText(failing, key));
  expect(String(await catchError(bad ?? Promise.resolve()))).toContain('(too long)');
  expect(await good).toBe(true);
});
