/** What each store of the package promises beside `journalConformance`, which knows no clock that a test can set. */

import { describe, expect, test } from 'vitest';
import { journalConformance, type OpenStore } from '../../src/developers/mock/index.ts';
import {
  type JournalStore,
  type ListQuery,
  MAX_DUE_IN,
  NoJournalError,
  type RecordIndex,
} from '../../src/journal/store.ts';
import { catchError } from './service.ts';
import { firstWrite } from './store-writes.ts';

/** A store of the package: a group of writes is not for each. */
export type WholeStore = Required<Omit<JournalStore, 'writeAll'>> & Pick<JournalStore, 'writeAll'>;

export function asWhole(store: JournalStore): WholeStore {
  const { list, count, claimDue, countDue, delete: remove } = store;
  if (!list || !count || !claimDue || !countDue || !remove) throw new Error('The store lacks a method.');
  return { ...store, list, count, claimDue, countDue, delete: remove };
}

/** Tests that a store conforms. Its cases run at the same time, since they wait for the clock of the store. */
export function testConformance(open: OpenStore, name = 'conforms'): void {
  test(name, async () => {
    const cases = journalConformance(open);
    const ends = await Promise.allSettled(cases.map(({ run }) => run()));
    const broken = ends.flatMap((end, place) =>
      'reason' in end ? `${cases[place]?.name}: ${end.reason}` : [],
    );
    expect(broken).toEqual([]);
  });
}

/** A store on records of its own, and a clock that the test sets. */
export interface ClockedStore {
  readonly store: WholeStore;
  /** Sets the clock of the store, in milliseconds since 1970. */
  setNow(milliseconds: number): unknown;
}

const NOW = 1_800_000_000_000;
const HOUR = 60 * 60 * 1000;
/** The latest that a record can be due, in whole milliseconds from now. */
const LATEST = Math.floor(MAX_DUE_IN);

const compareBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
const toPlaces = (records: readonly { readonly key: string; readonly at: number }[]) =>
  records.map(({ key, at }) => [key, at]);

/** Lists the keys of all pages. */
export async function listKeys(store: WholeStore, by: ListQuery['by'], limit = 100): Promise<string[]> {
  const keys: string[] = [];
  for (let after: ListQuery['after'] = null; ; ) {
    const page = await store.list({ by, after, limit });
    keys.push(...page.map(({ key }) => key));
    after = page.at(-1) ?? null;
    // One page over and over would never end.
    expect(new Set(keys).size).toBe(keys.length);
    if (page.length < limit) return keys;
  }
}

/** Tests what a store does at a time, to the millisecond. One in memory keeps whatever number it gets. */
export function describeTimes(open: () => ClockedStore | Promise<ClockedStore>, isDatabase = true): void {
  const start = async () => {
    const { store, setNow } = await open();
    await setNow(NOW);
    const add = async (key: string, index: Partial<RecordIndex> | null, text = '{}') =>
      expect(await store.write(key, firstWrite(index, { text }))).toBe(true);
    const claim = (limit = 10, lease = HOUR) => store.claimDue({ kind: 'key', limit, lease });
    const claimPlaces = async (limit?: number) => toPlaces((await claim(limit)).records);
    return { store, setNow, add, claim, claimPlaces };
  };

  test('returns the time with each read', async () => {
    const { store, add, setNow } = await start();
    await add('key 1', null, '{"a":  1}');
    expect(await store.read('key 1')).toEqual({ record: { version: 'v1', text: '{"a":  1}' }, now: NOW });
    await setNow(NOW + 123);
    expect(await store.read('key 2')).toEqual({ record: null, now: NOW + 123 });
  });

  test('lists records of one time by the bytes of their keys', async () => {
    const { store, add } = await start();
    const keys = Array.from({ length: 25 }, (_, index) => `${['A', 'a', 'B', 'é', '_'][index % 5]}${index}`);
    for (const key of keys) await add(key, { createdAt: 5, attentionAt: 5 });
    for (const by of ['createdAt', 'attentionAt'] as const)
      expect(await listKeys(store, by, 5)).toEqual(keys.toSorted(compareBytes));
  });

  test('lists and counts what needs a person from its time on', async () => {
    const { store, add, setNow } = await start();
    await add('key 1', { attentionAt: NOW + 1 });
    await add('key 2', { attentionAt: NOW });
    await add('key 3', { attentionAt: 17, kind: 'order' });
    await add('key 4', {});
    await add('reference 1', null);
    const list = async (after: ListQuery['after']) =>
      toPlaces(await store.list({ by: 'attentionAt', after, limit: 10 }));
    expect(await list(null)).toEqual([
      ['key 3', 17],
      ['key 2', NOW],
    ]);
    expect(await store.count()).toEqual({ records: 4, attention: 2 });
    await setNow(NOW + 1);
    expect(await list({ at: NOW, key: 'key 2' })).toEqual([['key 1', NOW + 1]]);
    expect(await store.count()).toEqual({ records: 4, attention: 3 });
  });

  test('claims what is due, the earliest first, once for each lease', async () => {
    const { store, add, claim, claimPlaces, setNow } = await start();
    await add('key 1', { dueAt: NOW });
    await add('key 2', { dueAt: NOW - 3 });
    await add('key 3', { dueAt: NOW - 2 });
    await add('key 4', { dueAt: NOW + 500 });
    await add('key 5', { dueAt: NOW - 9, kind: 'order' });
    await add('key 6', {});
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 3, nextIn: 500 });
    const record = { version: 'v1', text: '{}' };
    expect(await claim(2, 1_001)).toEqual({
      records: [
        { key: 'key 2', at: NOW - 3, ...record },
        { key: 'key 3', at: NOW - 2, ...record },
      ],
      now: NOW,
    });
    expect(await claim()).toEqual({ records: [{ key: 'key 1', at: NOW, ...record }], now: NOW });
    expect(await claim()).toEqual({ records: [], now: NOW });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: 500 });
    await setNow(NOW + 1_000);
    expect(await claimPlaces()).toEqual([['key 4', NOW + 500]]);
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: 1 });
    await setNow(NOW + 1_001);
    expect((await claimPlaces()).sort()).toEqual([
      ['key 2', NOW + 1_001],
      ['key 3', NOW + 1_001],
    ]);
    // A lease changes no version, and the next write decides.
    expect(await store.write('key 2', firstWrite({}, { expected: 'v1', version: 'v2' }))).toBe(true);
    await setNow(NOW + 2 * HOUR);
    expect((await claimPlaces()).map(([key]) => key)).toEqual(['key 1', 'key 4', 'key 3']);
  });

  test('returns what is due too late, since a clock went back', async () => {
    const { store, add, claimPlaces, setNow } = await start();
    await add('key 3', { dueAt: 8.64e15 });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
    await add('key 1', { dueAt: NOW + LATEST });
    await add('key 2', { dueAt: NOW + LATEST + 1 });
    await add('key 4', { dueAt: NOW });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 3, nextIn: LATEST });
    expect([await claimPlaces(2), await claimPlaces(2), await claimPlaces(2)]).toEqual([
      [
        ['key 4', NOW],
        ['key 2', NOW + LATEST + 1],
      ],
      [['key 3', 8.64e15]],
      [],
    ]);
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: HOUR });
    await setNow(NOW - 1);
    expect(await claimPlaces()).toEqual([['key 1', NOW + LATEST]]);
  });

  if (isDatabase)
    test('keeps times in whole milliseconds, from 1970 on', async () => {
      const { store, add, claim } = await start();
      await add('key 1', { createdAt: 1.4, attentionAt: -1, dueAt: 17.6 });
      for (const [by, at] of [
        ['createdAt', 1],
        ['attentionAt', 0],
      ] as const)
        expect(toPlaces(await store.list({ by, after: null, limit: 1 }))).toEqual([['key 1', at]]);
      await add('key 2', { dueAt: Number.MAX_VALUE });
      expect(toPlaces((await claim(10, 1_000.5)).records)).toEqual([
        ['key 1', 18],
        ['key 2', 8.64e15],
      ]);
      expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: 1_001 });
    });

  test('finds a key of 600 characters, of four bytes each', async () => {
    const { store, add, claimPlaces } = await start();
    // Random, since databases compress what repeats.
    const randoms = crypto.getRandomValues(new Uint32Array(600));
    const key = String.fromCodePoint(...[...randoms].map((random) => 0x10000 + (random % 0xf0000)));
    await add(key, { attentionAt: 1, dueAt: 1 }, JSON.stringify('x'.repeat(500_000)));
    expect(await listKeys(store, 'createdAt')).toEqual([key]);
    expect(await listKeys(store, 'attentionAt')).toEqual([key]);
    expect(await claimPlaces()).toEqual([[key, 1]]);
    expect(await store.delete([{ key, version: 'v1' }])).toBe(1);
  });

  test('keeps what each write of a group is found by, of an update too', async () => {
    const { store, add } = await start();
    const indexes = [
      { kind: 'order', createdAt: 3, dueAt: NOW },
      { createdAt: 1, attentionAt: 5 },
      { createdAt: 2, attentionAt: NOW + 1, dueAt: NOW - 1 },
      null,
    ] as const;
    for (const number of indexes.keys()) await add(`update ${number}`, { createdAt: 9, attentionAt: 9 });
    const text = JSON.stringify({ message: "a\0b \ud83d \\u0000 \\ud83d \\ ' é 🚀" });
    const writes = indexes.flatMap((index, number) => [
      { key: `update ${number}`, change: firstWrite(index, { expected: 'v1', version: 'v2', text }) },
      { key: `insert ${number}`, change: firstWrite(index, { version: 'v2', text }) },
    ]);
    const results = await (store.writeAll?.(writes) ??
      Promise.all(writes.map(({ key, change }) => store.write(key, change))));
    expect(results).toEqual(writes.map(() => true));
    const both = (number: number) => [`insert ${number}`, `update ${number}`];
    expect(await listKeys(store, 'createdAt')).toEqual([...both(1), ...both(2), ...both(0)]);
    expect(await listKeys(store, 'attentionAt')).toEqual(both(1));
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 2, nextIn: null });
    expect(await store.countDue({ kind: 'order' })).toEqual({ due: 2, nextIn: null });
    for (const { key } of writes) expect((await store.read(key)).record).toEqual({ version: 'v2', text });
  });
}

const LIST = { by: 'createdAt', after: null, limit: 10 } as const;
const CLAIM = { kind: 'key', limit: 10, lease: 60_000 } as const;

/** The steps of a store but its reads by a key, and what each is on a record `key 1` of version `v1`. */
export const listSteps = (store: WholeStore) => ({
  insert: () => store.write('key 2', firstWrite()),
  update: () => store.write('key 1', firstWrite({}, { expected: 'v1', version: 'v2' })),
  group: () => store.writeAll?.(['key 2', 'key 3'].map((key) => ({ key, change: firstWrite() }))),
  claimDue: () => store.claimDue(CLAIM),
  delete: () => store.delete([{ key: 'key 1', version: 'v1' }]),
  list: () => store.list(LIST),
  attention: () => store.list({ ...LIST, by: 'attentionAt' }),
  count: () => store.count(),
  countDue: () => store.countDue(CLAIM),
});

/**
 * Tests a store in a database that has none yet. `how` is what its errors name, if a write does not make it: then each step
 * fails, and otherwise those that find nothing in an empty store do not.
 */
export function testMissing(open: () => WholeStore | Promise<WholeStore>, how?: string): void {
  test(
    how ? `says how it is made while it is missing: ${how}` : 'is made by the first write only',
    async () => {
      const store = await open();
      const { read, insert, update, group, ...others } = {
        ...listSteps(store),
        read: () => store.read('key 1'),
      };
      const { claimDue, countDue, ...failing } = others;
      const steps = how ? { read, insert, update, ...(store.writeAll && { group }), ...others } : failing;
      for (const [name, step] of Object.entries(steps)) {
        // Redis deletes nothing where there is nothing.
        const failure = await Promise.resolve(step()).catch((error: unknown) => error);
        if (name === 'delete' && failure === 0) continue;
        expect(failure, name).toBeInstanceOf(NoJournalError);
        expect(failure).toMatchObject({ outcome: 'not_sent', retryable: false, reason: 'no_journal' });
        expect(String(failure)).toContain(how ?? 'The first charge makes it');
        expect(Object(failure).message.length).toBeLessThanOrEqual(200);
      }
      if (how) return;
      const now = expect.any(Number);
      expect(await read()).toEqual({ record: null, now, isNew: true });
      expect(await claimDue()).toEqual({ records: [], now });
      expect(await countDue()).toEqual({ due: 0, nextIn: null });
      // None of these has made it.
      expect(await read()).toEqual({ record: null, now, isNew: true });
      expect(await insert()).toBe(true);
      expect(await read()).toEqual({ record: null, now });
      expect(await store.count()).toEqual({ records: 1, attention: 0 });
    },
  );
}

/** A store on a connection of the merchant's own. */
export interface ConnectedStore {
  readonly store: WholeStore;
  /** Runs a statement on that connection. */
  run(sql: string): unknown;
  /** A store on the same records, through another connection: it sees what is committed. */
  readonly witness: WholeStore;
}

/** What is refused inside a transaction. */
export const REFUSED = {
  name: 'JournalError',
  outcome: 'not_sent',
  retryable: true,
  message: expect.stringContaining('inside a transaction'),
};

/** Tests a store on a connection that the merchant has a transaction on. */
export function describeTransactions(
  name: string,
  open: () => ConnectedStore | Promise<ConnectedStore>,
  begins: readonly string[] = ['BEGIN'],
  refused: object = REFUSED,
): void {
  describe(`${name} inside a transaction of the merchant`, () => {
    test.each(begins)('refuses what must be committed, and writes nothing: %s', async (begin) => {
      const { store, run, witness } = await open();
      // The store might not have set up its connection yet.
      await witness.write('key 1', firstWrite({ dueAt: 1 }));
      await run(begin);
      const { insert, update, group, claimDue, delete: remove } = listSteps(store);
      for (const step of [insert, update, ...(store.writeAll ? [group] : []), claimDue, remove])
        expect(await catchError(Promise.resolve(step())), String(step)).toMatchObject(refused);
      expect(await store.countDue(CLAIM)).toMatchObject({ due: 1 });
      await run('COMMIT');
      expect(toPlaces(await witness.list(LIST))).toEqual([['key 1', 1]]);
      expect((await witness.read('key 1')).record?.version).toBe('v1');
      expect((await claimDue()).records).toMatchObject([{ key: 'key 1', version: 'v1' }]);
      expect(await insert()).toBe(true);
    });

    test('reads, lists and writes as a part of it what need not be committed', async () => {
      const { store, run, witness } = await open();
      await witness.write('key 1', firstWrite());
      const change = firstWrite({ attentionAt: 1 }, { expected: 'v1', version: 'v2', mustCommit: false });
      const group = ['key 2', 'key 3'].map((key) => ({ key, change: firstWrite({}, { mustCommit: false }) }));
      const write = async () => {
        await run('BEGIN');
        expect(await store.write('key 1', change)).toBe(true);
        expect((await store.writeAll?.(group)) ?? [true, true]).toEqual([true, true]);
        expect(await store.read('key 1')).toMatchObject({ record: { version: 'v2' } });
        expect(await listKeys(store, 'attentionAt')).toEqual(['key 1']);
        expect(await store.count()).toEqual({ records: store.writeAll ? 3 : 1, attention: 1 });
        expect(await witness.read('key 1')).toMatchObject({ record: { version: 'v1' } });
      };
      await write();
      await run('ROLLBACK');
      expect(await store.read('key 1')).toMatchObject({ record: { version: 'v1' } });
      expect(await witness.count()).toEqual({ records: 1, attention: 0 });
      await write();
      await run('COMMIT');
      expect(await witness.read('key 1')).toMatchObject({ record: { version: 'v2' } });
    });
  });
}
