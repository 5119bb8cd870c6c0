import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { redisJournal } from '../../../src/journal/redis.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { connectNodeRedis, connectRedis, openRedisStore } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { change, changeWith, claimKeys, listAll } from '../../helpers/store-writes.ts';

let server: DatabaseServer;

beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

describe.skipIf(!hasRedis)('a store in Redis', () => {
  describe('conforms through ioredis', () => {
    const cases = journalConformance((prefix) => {
      const client = new Redis(server.port, '127.0.0.1');
      return { store: openRedisStore(client, prefix), close: () => client.quit() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  if (isExhaustive)
    describe('conforms through redis', () => {
      const cases = journalConformance(async (prefix) => {
        const client = createClient({ url: server.url });
        client.on('error', () => {});
        await client.connect();
        return { store: openRedisStore(client, prefix), close: () => client.close() };
      });
      test.each(cases)('$name', ({ run }) => run());
    });

  test('goes on after Redis has forgotten its scripts', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'forgotten:');
    expect(await store.write('order 1', change)).toBe(true);
    await client.call('SCRIPT', 'FLUSH');
    expect(await store.write('order 1', change)).toBe(false);
    await client.call('SCRIPT', 'FLUSH');
    expect(await store.write('order 2', change)).toBe(true);
  });

  test('sends a script once, and many writes without waiting for each other', async () => {
    const sent: string[][] = [];
    let reply: () => void = () => {};
    const replies = new Promise<void>((resolve) => {
      reply = resolve;
    });
    const client = connectRedis(server);
    const call = async (command: string, ...args: (string | number)[]) => {
      const result = client.call(command, ...args);
      sent.push([command, ...args.map(String)]);
      if (sent.length > 2) await replies;
      return await result;
    };
    const store = openRedisStore({ call }, 'at once:');
    await client.call('SCRIPT', 'FLUSH');
    await store.write('order 0', change);
    expect(sent.map(([command]) => command)).toEqual(['EVALSHA', 'EVAL']);
    const keys = Array.from({ length: 64 }, (_, number) => `order ${number + 1}`);
    const written = keys.map((key) => store.write(key, change));
    await vi.waitFor(() => expect(sent).toHaveLength(66));
    expect(new Set(sent.slice(2).map(([command]) => command))).toEqual(new Set(['EVALSHA']));
    reply();
    expect(await Promise.all(written)).toEqual(Array(64).fill(true));
  });

  test('reads the records of both clients and both protocols', async () => {
    const clients = [
      connectRedis(server),
      await connectNodeRedis(server, 2),
      await connectNodeRedis(server, 3),
    ];
    const stores = clients.map((client) => openRedisStore(client, 'read by all:'));
    for (const [index, writer] of stores.entries()) {
      const text = JSON.stringify({ note: 'caf\u00e9 \u{1f4b3}' });
      expect(await writer.write(`order ${index}`, { ...change, text })).toBe(true);
      for (const reader of stores) {
        expect((await reader.read(`order ${index}`)).record).toEqual({ version: 'v1', text });
        expect(await reader.write(`order ${index}`, change)).toBe(false);
      }
    }
  });

  test.each([
    ['numbers as text', 'stringNumbers=true', ''],
    ['a prefix of its own', 'keyPrefix=shop:', 'shop:'],
    ['pipelines that it makes by itself', 'enableAutoPipelining=true', ''],
  ])('writes once with ioredis set to %s', async (_what, options, prefix) => {
    const store = openRedisStore(connectRedis(server, options), 'journal:');
    const key = `under ${options}`;
    const writes = Array.from({ length: 10 }, (_, number) => ({ ...change, version: `v${number}` }));
    const written = await Promise.all(writes.map((write) => store.write(key, write)));
    expect(written.filter(Boolean)).toHaveLength(1);
    expect(await connectRedis(server).exists(`${prefix}journal:${key}`)).toBe(1);
  });

  test('names all keys of each step, for a cluster', async () => {
    const client = connectRedis(server);
    const named: unknown[] = [];
    const call = (command: string, ...args: (string | number)[]) => {
      if (command === 'EVALSHA') named.push(args.slice(2, 2 + Number(args[1])));
      return client.call(command, ...args);
    };
    const store = openRedisStore({ call }, 'named:');
    await store.write('order 17', change);
    await store.read('order 17');
    await store.list?.(listAll);
    await store.count?.();
    await store.claimDue?.(claimKeys);
    await store.countDue?.({ kind: 'key' });
    await store.delete?.(['order 17', 'order 18'].map((key) => ({ key, version: 'v1' })));
    const [name, index] = ['named:order 17', 'named:\tindex'];
    expect(named).toEqual([
      [name, index],
      [name, index],
      [index],
      [index],
      [index],
      [index],
      [name, 'named:order 18', index],
    ]);
  });

  test('keeps journals of two prefixes apart', async () => {
    const client = connectRedis(server);
    const [one, two] = [openRedisStore(client, 'one:'), openRedisStore(client, 'two:')];
    await one.write('order 17', change);
    expect(await two.read('order 17')).toMatchObject({ record: null, isNew: true });
    await two.write('order 18', change);
    expect((await two.read('order 17')).record).toBeNull();
    expect(await two.list?.(listAll)).toMatchObject([{ key: 'order 18' }]);
  });

  test('takes the time from the clock of Redis', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'timed:');
    const readTime = async () => {
      const [seconds, microseconds] = await client.time();
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    };
    const before = await readTime();
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    const { now } = await store.read('order 17').finally(() => vi.useRealTimers());
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(await readTime());
  });

  test('sets no expiry, and takes away what another one set', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'kept:');
    await store.write('order 17', change);
    expect(await client.pttl('kept:order 17')).toBe(-1);
    await client.pexpire('kept:order 17', 60_000);
    await store.write('order 17', { ...change, expected: 'v1', version: 'v2' });
    expect(await client.pttl('kept:order 17')).toBe(-1);
  });

  test('takes no step as done inside a MULTI of its client', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'queued:');
    const steps = [
      () => store.write('order 17', change),
      () => store.read('order 17'),
      () => store.list?.(listAll),
      () => store.count?.(),
      () => store.claimDue?.(claimKeys),
      () => store.countDue?.({ kind: 'key' }),
      () => store.delete?.([{ key: 'order 17', version: 'v1' }]),
    ];
    await client.call('MULTI');
    for (const step of steps)
      expect(await catchError(Promise.resolve(step()))).toMatchObject({
        name: 'JournalError',
        retryable: true,
        message: expect.stringContaining('MULTI'),
      });
    await client.call('DISCARD');
    expect(await store.read('order 17')).toMatchObject({ record: null, isNew: true });
  });

  test.each([
    ['its version', (client: Redis, name: string) => client.hdel(name, 'version')],
    ['the text of its version', (client: Redis, name: string) => client.hset(name, 'version', '')],
    ['its record', (client: Redis, name: string) => client.hdel(name, 'record')],
    ['its form', (client: Redis, name: string) => client.multi().del(name).set(name, 'mine').exec()],
  ])('returns no text, and is never new, for a record that has lost %s', async (what, lose) => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'lost:');
    await store.write(what, change);
    await lose(client, `lost:${what}`);
    expect((await store.read(what)).record).toEqual({ version: '', text: '' });
    expect(await store.write(what, change)).toBe(false);
    expect(await store.write(what, { ...change, expected: '' })).toBe(false);
  });

  test('has written once if a command was resent on a new connection', async () => {
    const client = connectRedis(server);
    const call = async (command: string, ...args: (string | number)[]) => {
      await client.call(command, ...args);
      return client.call(command, ...args);
    };
    const store = openRedisStore({ call }, 'sent again:');
    expect(await store.write('order 17', change)).toBe(false);
    expect((await store.read('order 17')).record).toEqual({ version: 'v1', text: '{}' });
    expect(await store.count?.()).toEqual({ records: 1, attention: 0 });
  });

  test('still has all members of a record once its index was deleted by hand', async () => {
    const client = connectRedis(server);
    const store = openRedisStore(client, 'healed:');
    const indexed = changeWith({ attentionAt: 1, dueAt: 1 });
    await store.write('order 17', indexed);
    await client.del('healed:\tindex');
    expect(await store.read('order 17')).toEqual({
      record: { version: 'v1', text: '{}' },
      now: expect.any(Number),
    });
    await store.write('order 17', { ...indexed, expected: 'v1', version: 'v2' });
    expect(await store.count?.()).toEqual({ records: 1, attention: 1 });
    expect(await store.countDue?.({ kind: 'key' })).toMatchObject({ due: 1 });
  });
});

test('refuses what is not a client', () => {
  for (const client of [undefined, null, {}, 'redis://localhost']) {
    expect(() => Reflect.apply(redisJournal, undefined, [client])).toThrow(
      'redisJournal takes a client of ioredis or of redis.',
    );
  }
});
