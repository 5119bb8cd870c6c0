import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import {
  connectNodeRedis,
  connectRedis,
  createRedisStorage,
  openRedisStore,
} from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { expectNumbers } from '../../helpers/sqlite-drivers.ts';
import { listSteps } from '../../helpers/store-suite.ts';
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
const next = firstWrite({}, { expected: 'v1', version: 'v2' });
const now = expect.any(Number);
const kept = { version: 'v1', text: '{}' };

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
    // A command whose reply was lost might have been executed.
    const fail = (command: string) => {
      sent.push(command);
      return Promise.reject(new Error('Connection is closed.'));
    };
    await catchError(openRedisStore({ call: fail }, 'at once:').write('order 0', change));
    expect(sent.splice(0)).toEqual(['EVALSHA']);
    // Writes do not wait for each other.
    const replied = Promise.withResolvers<void>();
    replies = replied.promise;
    const written = Array.from({ length: 64 }, (_, number) => store.write(`order ${number + 1}`, change));
    await vi.waitFor(() => expect(sent).toEqual(Array(64).fill('EVALSHA')));
    replied.resolve();
    expect(await Promise.all(written)).toEqual(Array(64).fill(true));
  });

  test.each<
    [string, () => Parameters<typeof openRedisStore>[0] | Promise<Parameters<typeof openRedisStore>[0]>]
  >([
    ['numbers as text', () => connectRedis(server, 'stringNumbers=true')],
    ['pipelines', () => connectRedis(server, 'enableAutoPipelining=true')],
    ['redis and RESP 2', () => connectNodeRedis(server, 2)],
    ['redis and RESP 3', () => connectNodeRedis(server, 3)],
  ])('is read alike through %s', async (name, connect) => {
    const store = openRedisStore(await connect(), `${name}:`);
    expect(await store.read('key 17')).toEqual({ record: null, now, isNew: true });
    await expectNumbers(store);
    expect(await store.read('key 17')).toEqual({ record: kept, now });
    expect(await store.write('key 17', change)).toBe(false);
    expect(await store.countDue(claimKeys)).toEqual({ due: 0, nextIn: now });
    expect(await store.delete([{ key: 'key 17', version: 'v1' }])).toBe(1);
  });

  test("keeps journals of two prefixes apart, and uses the client's own prefix", async () => {
    const { prefix } = createRedisStorage(server);
    const [one, two] = ['one:', 'two:'].map((own) => openRedisStore(connectRedis(server), prefix + own));
    await one?.write('key 17', change);
    expect(await two?.read('key 17')).toMatchObject({ record: null, isNew: true });
    const own = openRedisStore(connectRedis(server, `keyPrefix=${prefix}`), 'one:');
    expect(toKeys(await own.list(listAll))).toEqual(['key 17']);
    expect(toKeys((await own.claimDue(claimKeys)).records)).toEqual(['key 17']);
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
    const { group, ...steps } = { ...listSteps(store), read: () => store.read('key 1') };
    await client.call('MULTI');
    for (const [step, start] of Object.entries(steps))
      expect(await catchError(start()), step).toMatchObject({
        name: 'JournalError',
        retryable: true,
        message: expect.stringContaining('MULTI'),
      });
    await client.call('DISCARD');
    expect(await store.read('key 2')).toMatchObject({ record: null, isNew: true });
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
      { key: 'key whole', at: 1, ...kept },
    ];
    expect(await store.list(listAll)).toEqual(found);
    expect((await store.claimDue(claimKeys)).records).toEqual(found);
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 0 });
    if (what === 'its form') expect(await admin.get(name('key 17'))).toBe('mine');
  });
});

describe.skipIf(!hasRedis)('the index of a journal in Redis', () => {
  test('is read with one command a page, however many records there are', async () => {
    const { admin, store } = createRedisStorage(server);
    const paid = Array.from({ length: 2_000 }, (_, number) => store.write(`order ${number}`, changeWith({})));
    await Promise.all(paid);
    const unresolved = Array.from({ length: 50 }, (_, number) => `key ${number + 10}`);
    for (const key of unresolved) await store.write(key, changeWith({ attentionAt: 17 }));
    /** Returns how often each command was called meanwhile. */
    const countCalls = async (run: () => Promise<void>) => {
      await admin.config('RESETSTAT');
      await run();
      const stats = (await admin.info('commandstats')).matchAll(/^cmdstat_(.*?):calls=(\d+)/gm);
      return Object.fromEntries(Array.from(stats, ([, command, calls]) => [command, Number(calls)]));
    };
    const once = { eval: 1, exists: 1, time: 1 };
    const {
      'config|resetstat': _,
      info,
      zrangebylex,
      ...listing
    } = await countCalls(async () => expect(toKeys(await store.list(listAttention))).toEqual(unresolved));
    expect(listing).toEqual({ ...once, hmget: 50, type: 50 });
    expect(zrangebylex).toBeLessThanOrEqual(2);
    const counting = await countCalls(async () =>
      expect(await store.count()).toEqual({ records: 2_050, attention: 50 }),
    );
    expect(counting).toMatchObject({ ...once, zlexcount: 2 });
  });

  test('has exactly what the last write of each record gave it', async () => {
    const { store, admin, name, index } = createRedisStorage(server);
    const times = { createdAt: 17, attentionAt: 18, dueAt: 19 };
    const [key, order] = ['key order-17/1', 'order caf\u00e9 17'];
    await store.write(order, changeWith({ kind: 'order', ...times }));
    await store.write(key, changeWith(times));
    expect(await index()).toEqual([
      ...[key, order].map((one) => `a\t0000000000000018\t${one}`),
      ...[key, order].map((one) => `c\t0000000000000017\t${one}`),
      `d\tkey\t0000000000000019\t${key}`,
      `d\torder\t0000000000000019\t${order}`,
      'journal',
    ]);
    // Also what a claim has moved.
    expect(toKeys((await store.claimDue(claimKeys)).records)).toEqual([key]);
    await store.write(key, firstWrite({ createdAt: 20 }, { expected: 'v1', version: 'v2' }));
    await store.write(order, { ...next, index: null });
    expect(await index()).toEqual([`c\t0000000000000020\t${key}`, 'journal']);
    expect(Object.keys(await admin.hgetall(name(order))).sort()).toEqual(['record', 'version']);
    await store.write('key 18', change);
    await store.claimDue(claimKeys);
    expect(
      await store.delete([
        { key, version: 'v2' },
        { key: 'key 18', version: 'v1' },
      ]),
    ).toBe(2);
    expect(await index()).toEqual(['journal']);
    expect(await store.read(key)).toEqual({ record: null, now });
  });

  test('drops records that are gone', async () => {
    const { admin, store, name, index } = createRedisStorage(server);
    const gone = ['key gone', 'key gone caf\u00e9 \u{1f4b3}'];
    for (const key of [...gone, 'key kept'])
      await store.write(key, changeWith({ attentionAt: 17, dueAt: 17 }));
    await admin.del(gone.map(name));
    expect(toKeys((await store.claimDue({ ...claimKeys, limit: 1 })).records)).toEqual(['key kept']);
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
    expect(await store.read('key 17')).toEqual({ record: kept, now });
    await store.write('key 17', { ...indexed, expected: 'v1', version: 'v2' });
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 1 });
  });
});
