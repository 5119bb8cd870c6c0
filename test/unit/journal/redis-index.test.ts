import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_DUE_IN } from '../../../src/journal/index.ts';
import { type JournalStore, NoJournalError } from '../../../src/journal/store.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import {
  connectNodeRedis,
  connectRedis,
  createRedisStorage,
  openRedisStore,
} from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';
import { change, changeWith, claimKeys, listAll, listAttention } from '../../helpers/store-writes.ts';

const DAY = 24 * 60 * 60 * 1000;

let server: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

const toKeys = (records: readonly { readonly key: string }[] = []) => records.map(({ key }) => key);
const claim = async (store: JournalStore, limit = 100) =>
  toKeys((await store.claimDue?.({ ...claimKeys, limit }))?.records);
const countDue = async (store: JournalStore) => store.countDue?.({ kind: 'key' });

describe.skipIf(!hasRedis)('the index of a journal in Redis', () => {
  test('is read with one command a page, however many records there are', async () => {
    const { admin, store, index } = createRedisStorage(server);
    const paid = chooseSize(2_000, 20_000);
    for (let count = 0; count < paid; count += 100) {
      const keys = Array.from({ length: 100 }, (_, number) => `order ${count + number}`);
      await Promise.all(keys.map((key) => store.write(key, changeWith({}))));
    }
    const unresolved = Array.from({ length: 50 }, (_, number) => `key ${number + 10}`);
    for (const key of unresolved) await store.write(key, changeWith({ attentionAt: 17 }));
    await admin.config('RESETSTAT');
    expect(toKeys(await store.list?.(listAttention))).toEqual(unresolved);
    const calls = parseCalls(await admin.info('commandstats'));
    expect(calls).toMatchObject({ eval: 1, hmget: 50 });
    expect(calls.zrangebylex).toBeLessThanOrEqual(2);
    expect(Object.keys(calls).sort()).toEqual([
      'config|resetstat',
      'eval',
      'exists',
      'hmget',
      'time',
      'type',
      'zrangebylex',
    ]);
    await admin.config('RESETSTAT');
    expect(await store.count?.()).toEqual({ records: paid + 50, attention: 50 });
    expect(parseCalls(await admin.info('commandstats'))).toEqual({
      'config|resetstat': 1,
      eval: 1,
      exists: 1,
      time: 1,
      zlexcount: 2,
    });
    expect(await index()).toHaveLength(paid + 2 * unresolved.length + 1);
  });

  test('has exactly what the last write of each record gave it', async () => {
    const { store, admin, name, index } = createRedisStorage(server);
    const times = { createdAt: 17, attentionAt: 18, dueAt: 19 };
    await store.write('order caf\u00e9 17', changeWith({ kind: 'order', ...times }));
    await store.write('key order-17/1', changeWith(times));
    expect(await index()).toEqual([
      'a\t0000000000000018\tkey order-17/1',
      'a\t0000000000000018\torder caf\u00e9 17',
      'c\t0000000000000017\tkey order-17/1',
      'c\t0000000000000017\torder caf\u00e9 17',
      'd\tkey\t0000000000000019\tkey order-17/1',
      'd\torder\t0000000000000019\torder caf\u00e9 17',
      'journal',
    ]);
    await store.write('key order-17/1', { ...changeWith({ createdAt: 20 }), expected: 'v1', version: 'v2' });
    await store.write('order caf\u00e9 17', { ...change, expected: 'v1', version: 'v2', index: null });
    expect(await index()).toEqual(['c\t0000000000000020\tkey order-17/1', 'journal']);
    expect(Object.keys(await admin.hgetall(name('order caf\u00e9 17'))).sort()).toEqual([
      'record',
      'version',
    ]);
    await store.delete?.([{ key: 'key order-17/1', version: 'v2' }]);
    expect(await index()).toEqual(['journal']);
  });

  test('has no time of a claim once its record is written or deleted', async () => {
    const { store, index } = createRedisStorage(server);
    for (const key of ['key 17', 'key 18']) await store.write(key, change);
    expect(await claim(store)).toEqual(['key 17', 'key 18']);
    await store.write('key 17', { ...changeWith({}), expected: 'v1', version: 'v2' });
    expect(await store.delete?.([{ key: 'key 18', version: 'v1' }])).toBe(1);
    expect(await index()).toEqual(['c\t0000000000000001\tkey 17', 'journal']);
  });

  test('is not there before the first write, and no other step makes it', async () => {
    const { admin, store, prefix } = createRedisStorage(server);
    expect(await store.read('order 17')).toMatchObject({ record: null, isNew: true });
    for (const failure of [
      await catchError(Promise.resolve(store.list?.(listAll))),
      await catchError(Promise.resolve(store.count?.())),
    ]) {
      expect(failure).toBeInstanceOf(NoJournalError);
      expect(String(Object(failure).message).length).toBeLessThanOrEqual(200);
    }
    expect(await store.claimDue?.(claimKeys)).toEqual({ records: [], now: expect.any(Number) });
    expect(await countDue(store)).toEqual({ due: 0, nextIn: null });
    expect(await store.delete?.([{ key: 'order 17', version: 'v1' }])).toBe(0);
    expect(await admin.keys(`${prefix}*`)).toEqual([]);
  });

  test('stays when the last record is deleted', async () => {
    const { store } = createRedisStorage(server);
    await store.write('order 17', change);
    expect(await store.delete?.([{ key: 'order 17', version: 'v1' }])).toBe(1);
    expect(await store.read('order 17')).toEqual({ record: null, now: expect.any(Number) });
    expect(await store.list?.(listAll)).toEqual([]);
    expect(await store.count?.()).toEqual({ records: 0, attention: 0 });
  });

  test('finds what needs a person once its time has come by the clock of Redis', async () => {
    const { store, setAhead } = createRedisStorage(server);
    const { now } = await store.read('order 17');
    await store.write('order 17', changeWith({ attentionAt: now + DAY }));
    expect(await store.list?.(listAttention)).toEqual([]);
    expect(await store.count?.()).toEqual({ records: 1, attention: 0 });
    setAhead(DAY);
    expect(await store.list?.(listAttention)).toMatchObject([{ key: 'order 17', at: now + DAY }]);
    expect(await store.count?.()).toEqual({ records: 1, attention: 1 });
  });

  test('finds what is due by the clock of Redis, the earliest first', async () => {
    const { store, setAhead } = createRedisStorage(server);
    const { now } = await store.read('order 17');
    await store.write('key 17', changeWith({ dueAt: now + DAY }));
    await store.write('key 18', changeWith({ dueAt: now + DAY - 1 }));
    expect(await claim(store)).toEqual([]);
    setAhead(DAY);
    const claimed = await store.claimDue?.(claimKeys);
    expect(claimed?.records).toEqual([
      { key: 'key 18', at: now + DAY - 1, version: 'v1', text: '{}' },
      { key: 'key 17', at: now + DAY, version: 'v1', text: '{}' },
    ]);
    expect(claimed?.now).toBeGreaterThanOrEqual(now + DAY);
    expect(await claim(store)).toEqual([]);
    setAhead(DAY + claimKeys.lease);
    expect(await claim(store)).toEqual(['key 17', 'key 18']);
  });

  test('takes a record as due if its time is too late: the clock went back', async () => {
    const { store, setAhead } = createRedisStorage(server);
    setAhead(DAY);
    const { now } = await store.read('key 17');
    await store.write('key 17', changeWith({ dueAt: now }));
    setAhead(DAY - MAX_DUE_IN + 5_000);
    expect(await countDue(store)).toMatchObject({ due: 0, nextIn: expect.any(Number) });
    expect(await claim(store)).toEqual([]);
    setAhead(DAY - MAX_DUE_IN - 5_000);
    await store.write('key 18', change);
    expect(await countDue(store)).toEqual({ due: 2, nextIn: null });
    expect(await claim(store)).toEqual(['key 18', 'key 17']);
    expect(await claim(store)).toEqual([]);
  });

  test('drops records that are gone', async () => {
    const { admin, store, name, index } = createRedisStorage(server);
    const gone = ['key gone', 'key gone caf\u00e9 \u{1f4b3}'];
    for (const key of [...gone, 'key kept'])
      await store.write(key, changeWith({ attentionAt: 17, dueAt: 17 }));
    await admin.del(gone.map(name));
    expect(await claim(store, 1)).toEqual(['key kept']);
    expect(toKeys(await store.list?.({ ...listAll, limit: 1 }))).toEqual(['key kept']);
    expect(toKeys(await store.list?.(listAttention))).toEqual(['key kept']);
    expect(await store.count?.()).toEqual({ records: 1, attention: 1 });
    expect((await index()).filter((member) => member.includes('gone'))).toEqual([]);
  });

  test('returns records that cannot be read as such, and claims them too', async () => {
    const { admin, store, name, setAhead } = createRedisStorage(server);
    const broken = ['key no text', 'key no version', 'key text'];
    for (const key of [...broken, 'key whole']) await store.write(key, change);
    await admin.hdel(name('key no version'), 'version');
    await admin.hdel(name('key no text'), 'record');
    await admin.multi().del(name('key text')).set(name('key text'), 'mine').exec();
    const found = [
      ...broken.map((key) => ({ key, at: 1, version: '', text: '' })),
      { key: 'key whole', at: 1, version: 'v1', text: '{}' },
    ];
    expect(await store.list?.(listAll)).toEqual(found);
    expect((await store.claimDue?.(claimKeys))?.records).toEqual(found);
    expect(await claim(store)).toEqual([]);
    setAhead(claimKeys.lease);
    expect(await claim(store)).toEqual([...broken, 'key whole']);
    expect(await admin.get(name('key text'))).toBe('mine');
  });

  test('records nothing if its name holds another value', async () => {
    const { admin, store, name, prefix } = createRedisStorage(server);
    await admin.set(`${prefix}\tindex`, 'mine');
    expect(await catchError(store.write('order 17', change))).toHaveProperty(
      'message',
      expect.stringContaining('WRONGTYPE'),
    );
    expect(await admin.exists(name('order 17'))).toBe(0);
    await catchError(Promise.resolve(store.count?.()));
    await catchError(Promise.resolve(store.claimDue?.(claimKeys)));
  });

  test('is read alike through both clients, both protocols, and numbers as text', async () => {
    const { prefix } = createRedisStorage(server);
    const clients = [
      connectRedis(server),
      connectRedis(server, 'stringNumbers=true'),
      connectRedis(server, 'enableAutoPipelining=true'),
      await connectNodeRedis(server, 2),
      await connectNodeRedis(server, 3),
    ];
    const record = { version: 'v1', text: '{}' };
    const listed = { ...record, key: 'order 17', at: 1 };
    const now = expect.any(Number);
    for (const [number, client] of clients.entries()) {
      const store = openRedisStore(client, `${prefix}${number}:`);
      expect(await store.read('order 17')).toEqual({ record: null, now, isNew: true });
      expect(await store.write('order 17', changeWith({ attentionAt: 1, dueAt: 1 }))).toBe(true);
      expect(await store.write('order 17', change)).toBe(false);
      expect(await store.read('order 17')).toEqual({ record, now });
      expect(await store.list?.(listAll)).toEqual([listed]);
      expect(await store.list?.(listAttention)).toEqual([listed]);
      expect(await store.count?.()).toEqual({ records: 1, attention: 1 });
      expect(await countDue(store)).toEqual({ due: 1, nextIn: null });
      expect(await store.claimDue?.(claimKeys)).toEqual({ records: [listed], now });
      expect(await countDue(store)).toEqual({ due: 0, nextIn: expect.any(Number) });
      expect(await store.delete?.([{ key: 'order 17', version: 'v1' }])).toBe(1);
    }
  });

  test("is found under the client's own prefix", async () => {
    const { prefix } = createRedisStorage(server);
    const store = openRedisStore(connectRedis(server, `keyPrefix=${prefix}`), 'journal:');
    await store.write('key 17', change);
    expect(toKeys(await store.list?.(listAll))).toEqual(['key 17']);
    expect(await claim(store)).toEqual(['key 17']);
    const other = openRedisStore(connectRedis(server), `${prefix}journal:`);
    expect(toKeys(await other.list?.(listAll))).toEqual(['key 17']);
  });
});

/** Returns how often each command was called. */
function parseCalls(stats: string): Record<string, number> {
  const lines = stats.matchAll(/^cmdstat_(.*?):calls=(\d+)/gm);
  const calls = Array.from(lines, ([, command, calls]) => [command, Number(calls)] as const);
  return Object.fromEntries(calls.filter(([command]) => command !== 'info'));
}
