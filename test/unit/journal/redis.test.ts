import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { redisJournal } from '../../../src/journal/redis.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import {
  connectNodeRedis,
  connectRedis,
  createRedisStorage,
  openRedisStore,
} from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import type { WholeStore } from '../../helpers/store-suite.ts';
import {
  change,
  changeWith,
  claimKeys,
  firstWrite,
  listAll,
  listAttention,
} from '../../helpers/store-writes.ts';

let server: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

const toKeys = (records: readonly { readonly key: string }[]) => records.map(({ key }) => key);
const claim = async (store: WholeStore, limit = 100) =>
  toKeys((await store.claimDue({ ...claimKeys, limit })).records);
const next = firstWrite({}, { expected: 'v1', version: 'v2' });
const now = expect.any(Number);
const kept = { record: { version: 'v1', text: '{}' }, now };

describe.skipIf(!hasRedis)('a store in Redis', () => {
  test('sends a script once, and again after Redis has forgotten it', async () => {
    const client = connectRedis(server);
    const sent: string[] = [];
    let replies: Promise<void> | undefined;
    const call = async (command: string, ...args: (string | number)[]) => {
      sent.push(command);
      const result = client.call(command, ...args);
      await replies;
      return await result;
    };
    const store = openRedisStore({ call }, 'at once:');
    for (const isWritten of [true, false]) {
      await client.call('SCRIPT', 'FLUSH');
      expect(await store.write('order 0', change)).toBe(isWritten);
      expect(sent.splice(0)).toEqual(['EVALSHA', 'EVAL']);
    }
    // Writes do not wait for each other.
    const replied = Promise.withResolvers<void>();
    replies = replied.promise;
    const written = Array.from({ length: 64 }, (_, number) => store.write(`order ${number + 1}`, change));
    await vi.waitFor(() => expect(sent).toEqual(Array(64).fill('EVALSHA')));
    replied.resolve();
    expect(await Promise.all(written)).toEqual(Array(64).fill(true));
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
    const listed = { ...kept.record, key: 'key 17', at: 1 };
    for (const [number, client] of clients.entries()) {
      const store = openRedisStore(client, `${prefix}${number}:`);
      expect(await store.read('key 17')).toEqual({ record: null, now, isNew: true });
      expect(await store.write('key 17', changeWith({ attentionAt: 1, dueAt: 1 }))).toBe(true);
      expect(await store.write('key 17', change)).toBe(false);
      expect(await store.read('key 17')).toEqual(kept);
      expect(await store.list(listAll)).toEqual([listed]);
      expect(await store.list(listAttention)).toEqual([listed]);
      expect(await store.count()).toEqual({ records: 1, attention: 1 });
      expect(await store.countDue({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
      expect(await store.claimDue(claimKeys)).toEqual({ records: [listed], now });
      expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: now });
      expect(await store.delete([{ key: 'key 17', version: 'v1' }])).toBe(1);
    }
  });

  test("keeps journals of two prefixes apart, and uses the client's own prefix", async () => {
    const { prefix } = createRedisStorage(server);
    const [one, two] = ['one:', 'two:'].map((own) => openRedisStore(connectRedis(server), prefix + own));
    await one?.write('key 17', change);
    expect(await two?.read('key 17')).toMatchObject({ record: null, isNew: true });
    const own = openRedisStore(connectRedis(server, `keyPrefix=${prefix}`), 'one:');
    expect(toKeys(await own.list(listAll))).toEqual(['key 17']);
    expect(await claim(own)).toEqual(['key 17']);
  });

  test('sets no expiry, and takes away what another one set', async () => {
    const { admin, store, name } = createRedisStorage(server);
    await store.write('order 17', change);
    expect(await admin.pttl(name('order 17'))).toBe(-1);
    await admin.pexpire(name('order 17'), 60_000);
    await store.write('order 17', next);
    expect(await admin.pttl(name('order 17'))).toBe(-1);
  });

  test('takes no step as done inside a MULTI of its client', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'queued:');
    const steps = [
      () => store.write('order 17', change),
      () => store.read('order 17'),
      () => store.list(listAll),
      () => store.count(),
      () => store.claimDue(claimKeys),
      () => store.countDue({ kind: 'key' }),
      () => store.delete([{ key: 'order 17', version: 'v1' }]),
    ];
    await client.call('MULTI');
    for (const step of steps)
      expect(await catchError(step())).toMatchObject({
        name: 'JournalError',
        retryable: true,
        message: expect.stringContaining('MULTI'),
      });
    await client.call('DISCARD');
    expect(await store.read('order 17')).toMatchObject({ record: null, isNew: true });
  });

  test.each([
    ['its version', (admin: Redis, name: string) => admin.hdel(name, 'version')],
    ['the text of its version', (admin: Redis, name: string) => admin.hset(name, 'version', '')],
    ['its record', (admin: Redis, name: string) => admin.hdel(name, 'record')],
    ['its form', (admin: Redis, name: string) => admin.multi().del(name).set(name, 'mine').exec()],
  ])('returns no text, and is never new, for a record that has lost %s', async (what, lose) => {
    const { admin, store, name } = createRedisStorage(server);
    for (const key of ['key 17', 'key whole']) await store.write(key, change);
    await lose(admin, name('key 17'));
    const lost = { version: '', text: '' };
    expect((await store.read('key 17')).record).toEqual(lost);
    expect(await store.write('key 17', change)).toBe(false);
    expect(await store.write('key 17', { ...change, expected: '' })).toBe(false);
    // It is listed and claimed all the same, so that a person hears of it.
    const found = [
      { key: 'key 17', at: 1, ...lost },
      { key: 'key whole', at: 1, ...kept.record },
    ];
    expect(await store.list(listAll)).toEqual(found);
    expect((await store.claimDue(claimKeys)).records).toEqual(found);
    expect(await claim(store)).toEqual([]);
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 0 });
    if (what === 'its form') expect(await admin.get(name('key 17'))).toBe('mine');
  });

  test('has written once if a command was resent on a new connection', async () => {
    const client = connectRedis(server);
    const call = async (command: string, ...args: (string | number)[]) => {
      await client.call(command, ...args);
      return client.call(command, ...args);
    };
    const store = openRedisStore({ call }, 'sent again:');
    expect(await store.write('order 17', change)).toBe(false);
    expect(await store.read('order 17')).toEqual(kept);
    expect(await store.count()).toEqual({ records: 1, attention: 0 });
  });
});

describe.skipIf(!hasRedis)('the index of a journal in Redis', () => {
  test('is read with one command a page, however many records there are', async () => {
    const { admin, store, index } = createRedisStorage(server);
    const paid = Array.from({ length: 2_000 }, (_, number) => store.write(`order ${number}`, changeWith({})));
    await Promise.all(paid);
    const unresolved = Array.from({ length: 50 }, (_, number) => `key ${number + 10}`);
    for (const key of unresolved) await store.write(key, changeWith({ attentionAt: 17 }));
    await admin.config('RESETSTAT');
    expect(toKeys(await store.list(listAttention))).toEqual(unresolved);
    const { 'config|resetstat': _, ...calls } = parseCalls(await admin.info('commandstats'));
    const once = { eval: 1, exists: 1, time: 1 };
    expect(calls).toEqual({ ...once, hmget: 50, type: 50, zrangebylex: calls.zrangebylex });
    expect(calls.zrangebylex).toBeLessThanOrEqual(2);
    await admin.config('RESETSTAT');
    expect(await store.count()).toEqual({ records: 2_050, attention: 50 });
    expect(parseCalls(await admin.info('commandstats'))).toMatchObject({ ...once, zlexcount: 2 });
    expect(await index()).toHaveLength(2_000 + 2 * 50 + 1);
  });

  test('has exactly what the last write of each record gave it', async () => {
    const { store, admin, name, index } = createRedisStorage(server);
    const times = { createdAt: 17, attentionAt: 18, dueAt: 19 };
    const keys = ['key order-17/1', 'order caf\u00e9 17'];
    await store.write('order caf\u00e9 17', changeWith({ kind: 'order', ...times }));
    await store.write('key order-17/1', changeWith(times));
    expect(await index()).toEqual([
      ...keys.map((key) => `a\t0000000000000018\t${key}`),
      ...keys.map((key) => `c\t0000000000000017\t${key}`),
      ...keys.map((key) => `d\t${key.split(' ')[0]}\t0000000000000019\t${key}`),
      'journal',
    ]);
    // Also what a claim has moved.
    expect(await claim(store)).toEqual(['key order-17/1']);
    await store.write('key order-17/1', firstWrite({ createdAt: 20 }, { expected: 'v1', version: 'v2' }));
    await store.write('order caf\u00e9 17', { ...next, index: null });
    expect(await index()).toEqual(['c\t0000000000000020\tkey order-17/1', 'journal']);
    expect(Object.keys(await admin.hgetall(name('order caf\u00e9 17'))).sort()).toEqual([
      'record',
      'version',
    ]);
    await store.write('key 18', change);
    await claim(store);
    const unneeded = ['key order-17/1', 'key 18'].map((key, number) => ({ key, version: `v${2 - number}` }));
    expect(await store.delete(unneeded)).toBe(2);
    expect(await index()).toEqual(['journal']);
    expect(await store.read('key order-17/1')).toEqual({ record: null, now });
    expect(await store.list(listAll)).toEqual([]);
  });

  test('drops records that are gone', async () => {
    const { admin, store, name, index } = createRedisStorage(server);
    const gone = ['key gone', 'key gone caf\u00e9 \u{1f4b3}'];
    for (const key of [...gone, 'key kept'])
      await store.write(key, changeWith({ attentionAt: 17, dueAt: 17 }));
    await admin.del(gone.map(name));
    expect(await claim(store, 1)).toEqual(['key kept']);
    expect(toKeys(await store.list({ ...listAll, limit: 1 }))).toEqual(['key kept']);
    expect(toKeys(await store.list(listAttention))).toEqual(['key kept']);
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    expect((await index()).filter((member) => member.includes('gone'))).toEqual([]);
  });

  test('records nothing if its name holds another value', async () => {
    const { admin, store, name, prefix } = createRedisStorage(server);
    await admin.set(`${prefix}\tindex`, 'mine');
    expect(String(await catchError(store.write('order 17', change)))).toContain('WRONGTYPE');
    expect(await admin.exists(name('order 17'))).toBe(0);
    await catchError(store.count());
    await catchError(store.claimDue(claimKeys));
  });

  test('has all members of a record again with its next write, once it was deleted by hand', async () => {
    const { admin, store, prefix } = createRedisStorage(server);
    const indexed = changeWith({ attentionAt: 1, dueAt: 1 });
    await store.write('key 17', indexed);
    await admin.del(`${prefix}\tindex`);
    expect(await store.read('key 17')).toEqual(kept);
    await store.write('key 17', { ...indexed, expected: 'v1', version: 'v2' });
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 1 });
  });
});

/** Returns how often each command was called. */
function parseCalls(stats: string): Record<string, number> {
  const lines = stats.matchAll(/^cmdstat_(.*?):calls=(\d+)/gm);
  const calls = Array.from(lines, ([, command, calls]) => [command, Number(calls)] as const);
  return Object.fromEntries(calls.filter(([command]) => command !== 'info'));
}

test.each([undefined, null, {}, 'redis://localhost'])('refuses %j, which is not a client', (client) => {
  expect(() => Reflect.apply(redisJournal, undefined, [client])).toThrow(
    'redisJournal takes a client of ioredis or of redis.',
  );
});
