import { describe, expect, test } from 'vitest';
import { MAX_DUE_IN, type RecordIndex } from '../../../src/journal/index.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, sqliteKinds, TABLE, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const NOW = 1_800_000_000_000;
const HOUR = 60 * 60 * 1000;
/** The latest that a record can be due, in whole milliseconds from now. */
const LATEST = Math.floor(MAX_DUE_IN);

describe.each(sqliteKinds)('%s', (_kind, open) => {
  const start = () => {
    const database = useSqliteFile()();
    const statements: string[] = [];
    const { store, setNow } = open(database, (sql) => statements.push(sql));
    setNow(NOW);
    const add = (key: string, index: Partial<RecordIndex> | null) => store.write(key, firstWrite(index));
    const claim = (limit = 10, lease = HOUR) => store.claimDue({ kind: 'key', limit, lease });
    return { database, statements, store, setNow, add, claim };
  };

  test('returns the time with each read, by one statement', async () => {
    const { store, statements, add, setNow } = start();
    await add('order-1', null);
    statements.length = 0;
    expect(await store.read('order-1')).toEqual({ record: { version: 'v1', text: '{}' }, now: NOW });
    expect(statements).toHaveLength(1);
    setNow(NOW + 123);
    expect(await store.read('order-2')).toEqual({ record: null, now: NOW + 123 });
    expect(new Set(statements).size).toBe(1);
  });

  test('makes no table before the first write', async () => {
    const { database, store, claim } = start();
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(await store.read('order-1')).toEqual({ record: null, now: NOW, isNew: true });
      expect(await claim()).toEqual({ records: [], now: NOW });
      expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: null });
      for (const failure of [
        await catchError(store.list({ by: 'createdAt', after: null, limit: 10 })),
        await catchError(store.list({ by: 'attentionAt', after: null, limit: 10 })),
        await catchError(store.count()),
        await catchError(store.delete([{ key: 'order-1', version: 'v1' }])),
      ])
        expect(failure).toMatchObject({ name: 'JournalError', reason: 'no_journal', outcome: 'not_sent' });
    }
    expect(database.prepare('SELECT name FROM sqlite_master').all()).toEqual([]);
    expect(await store.write('order-1', firstWrite())).toBe(true);
    expect(await store.read('order-2')).toEqual({ record: null, now: NOW });
    expect(await store.count()).toEqual({ records: 1, attention: 0 });
  });

  test('writes only over the version that is expected', async () => {
    const { store } = start();
    expect(await store.write('order-1', firstWrite(null, { text: 'one' }))).toBe(true);
    expect(await store.write('order-1', firstWrite(null, { version: 'v2', text: 'two' }))).toBe(false);
    const second = { expected: 'v1', version: 'v2', text: 'two' };
    expect(await store.write('order-2', firstWrite(null, second))).toBe(false);
    expect(await store.write('order-1', firstWrite(null, { ...second, expected: 'v0' }))).toBe(false);
    expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1', text: 'one' } });
    expect(await store.write('order-1', firstWrite(null, second))).toBe(true);
    expect(await store.read('order-1')).toMatchObject({ record: { version: 'v2', text: 'two' } });
    expect(await store.read('order-2')).toMatchObject({ record: null });
  });

  test('keeps each character of a text', async () => {
    const { store } = start();
    const text = `"'\\ \u{1f600} é \\ud83d ?1 ${'x'.repeat(100_000)}`;
    await store.write('order 17', firstWrite({}, { text }));
    expect(await store.read('order 17')).toMatchObject({ record: { text } });
    expect(await store.list({ by: 'createdAt', after: null, limit: 1 })).toMatchObject([{ text }]);
  });

  test('finds a record by nothing once its index is null', async () => {
    const { store, claim } = start();
    await store.write('order-1', firstWrite({ attentionAt: NOW, dueAt: NOW }));
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    await store.write('order-1', firstWrite(null, { expected: 'v1', version: 'v2' }));
    expect(await store.count()).toEqual({ records: 0, attention: 0 });
    for (const by of ['createdAt', 'attentionAt'] as const)
      expect(await store.list({ by, after: null, limit: 10 })).toEqual([]);
    expect(await claim()).toMatchObject({ records: [] });
    expect(await store.read('order-1')).toMatchObject({ record: { version: 'v2' } });
  });

  test('lists 250 records of one time in pages, each once, in order', async () => {
    const { store, add } = start();
    // In the order of their bytes, which a language might sort in another way.
    const keys = Array.from({ length: 250 }, (_, index) => `${['A', 'a', 'B', 'é', '_'][index % 5]}${index}`);
    for (const key of keys) await add(key, { createdAt: NOW });
    await add('earlier', { createdAt: 0, kind: 'order' });
    const listed: string[] = [];
    const pages: number[] = [];
    let after: { at: number; key: string } | null = null;
    for (;;) {
      const page = await store.list({ by: 'createdAt', after, limit: 100 });
      pages.push(page.length);
      listed.push(...page.map(({ key }) => key));
      after = page.at(-1) ?? null;
      if (after === null) break;
    }
    const sorted = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    expect(listed).toEqual(['earlier', ...sorted]);
    expect(pages).toEqual([100, 100, 51, 0]);
  });

  test('lists and counts what needs a person from its time on', async () => {
    const { store, add, setNow } = start();
    await add('order-1', { attentionAt: NOW + 1 });
    await add('order-2', { attentionAt: NOW });
    await add('order-3', { attentionAt: 17, kind: 'order' });
    await add('order-4', {});
    const list = async (after: { at: number; key: string } | null = null) =>
      (await store.list({ by: 'attentionAt', after, limit: 10 })).map(({ key, at }) => [key, at]);
    expect(await list()).toEqual([
      ['order-3', 17],
      ['order-2', NOW],
    ]);
    expect(await store.count()).toEqual({ records: 4, attention: 2 });
    setNow(NOW + 1);
    expect(await list({ at: NOW, key: 'order-2' })).toEqual([['order-1', NOW + 1]]);
    expect(await store.count()).toEqual({ records: 4, attention: 3 });
  });

  test('claims what is due, the earliest first, once for each lease', async () => {
    const { store, add, claim, setNow } = start();
    await add('order-1', { dueAt: NOW - 1 });
    await add('order-2', { dueAt: NOW - 3 });
    await add('order-3', { dueAt: NOW - 2 });
    await add('order-4', { dueAt: NOW + 500 });
    await add('order-5', { dueAt: NOW - 9, kind: 'order' });
    await add('order-6', {});
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 3, nextIn: 500 });
    const record = { version: 'v1', text: '{}' };
    expect(await claim(2, 1_000.5)).toEqual({
      records: [
        { key: 'order-2', at: NOW - 3, ...record },
        { key: 'order-3', at: NOW - 2, ...record },
      ],
      now: NOW,
    });
    expect(await claim()).toMatchObject({ records: [{ key: 'order-1' }] });
    expect(await claim()).toEqual({ records: [], now: NOW });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: 500 });
    setNow(NOW + 1_001);
    expect((await claim()).records.map(({ key, at }) => [key, at])).toEqual([
      ['order-4', NOW + 500],
      ['order-2', NOW + 1_001],
      ['order-3', NOW + 1_001],
    ]);
    // A lease changes no version.
    expect(await store.write('order-2', firstWrite({}, { expected: 'v1', version: 'v2' }))).toBe(true);
    setNow(NOW + 2 * HOUR);
    expect((await claim()).records.map(({ key }) => key)).toEqual(['order-1', 'order-3', 'order-4']);
  });

  test('returns what is due too late, since a clock went back', async () => {
    const { store, add, claim, setNow } = start();
    const ahead = 24 * HOUR;
    await add('order-1', { dueAt: NOW + LATEST });
    await add('order-3', { dueAt: NOW + ahead + LATEST });
    await add('order-2', { dueAt: NOW + LATEST + 1 });
    await add('order-4', { dueAt: NOW });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 3, nextIn: LATEST });
    const claimed = [await claim(2), await claim(2), await claim(2)].map(({ records }) =>
      records.map(({ key }) => key),
    );
    expect(claimed).toEqual([['order-4', 'order-2'], ['order-3'], []]);
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: HOUR });
    setNow(NOW - 1);
    expect((await claim()).records.map(({ key }) => key)).toEqual(['order-1']);
  });

  test('deletes the records that still have their version', async () => {
    const { store, add } = start();
    for (const key of ['order-1', 'order-2', 'order-3']) await add(key, {});
    await store.write('order-2', firstWrite({}, { expected: 'v1', version: 'v2' }));
    const unneeded = ['order-1', 'order-2', 'order-4'].map((key) => ({ key, version: 'v1' }));
    expect(await store.delete(unneeded)).toBe(1);
    expect(await store.delete([])).toBe(0);
    const left = await store.list({ by: 'createdAt', after: null, limit: 10 });
    expect(left.map(({ key }) => key)).toEqual(['order-2', 'order-3']);
  });

  test('forgets when a record was due once its key is used again', async () => {
    const { store, add, claim } = start();
    await add('order-1', { dueAt: NOW, attentionAt: NOW });
    await store.delete([{ key: 'order-1', version: 'v1' }]);
    await store.write('order-1', firstWrite({}, { version: 'v2' }));
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: null });
    expect(await claim()).toMatchObject({ records: [] });
    expect(await store.count()).toEqual({ records: 1, attention: 0 });
  });

  test('keeps times in whole milliseconds', async () => {
    const { database, add } = start();
    await add('order-1', { createdAt: 1.4, attentionAt: -1, dueAt: 17.6 });
    const row = database.prepare(`SELECT created_at, attention_at, due_at FROM ${TABLE}`).get();
    expect(row).toEqual({ created_at: 1, attention_at: 0, due_at: 18 });
  });
});
