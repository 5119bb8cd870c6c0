import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { redisJournal } from '../../../src/journal/redis.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';

let server: DatabaseServer;

beforeAll(async () => {
  if (hasRedis) server = await startRedis();
}, 60_000);
afterAll(() => server?.stop());

/** Closed with the test. */
function ioredis(options = ''): Redis {
  const client = new Redis(`${server.url}?${options}`);
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

async function nodeRedis(options: object = {}) {
  const client = createClient({ url: server.url, ...options });
  client.on('error', () => {});
  await client.connect();
  return client;
}

describe.skipIf(!hasRedis)('a journal in Redis', () => {
  describe('conforms through ioredis', () => {
    const cases = journalConformance((options) => {
      const client = new Redis(server.port, '127.0.0.1');
      return { journal: redisJournal(client, options), close: () => client.quit() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  if (isExhaustive)
    describe('conforms through redis', () => {
      const cases = journalConformance(async (options) => {
        const client = await nodeRedis();
        return { journal: redisJournal(client, options), close: () => client.close() };
      });
      test.each(cases)('$name', ({ run }) => run());
    });

  test('reads the records of both clients and both protocols', async () => {
    const [two, three] = [await nodeRedis({ RESP: 2 }), await nodeRedis({ RESP: 3 })];
    onTestFinished(() => {
      two.destroy();
      three.destroy();
    });
    const journals = [redisJournal(ioredis()), redisJournal(two), redisJournal(three)];
    for (const [index, writer] of journals.entries()) {
      const key = `read by all ${index}`;
      await writer.complete(await claimKey(writer, key), { state: 'unknown', reference: 'TXN-perhaps' });
      for (const reader of journals) {
        expect(await reader.read(key)).toMatchObject({ state: 'unknown', reference: 'TXN-perhaps' });
        expect(await reader.claim(key, chargeIntent)).toMatchObject({ state: 'unknown' });
      }
    }
  });

  test.each([
    ['numbers as text', 'stringNumbers=true', ''],
    ['a prefix of its own', 'keyPrefix=shop:', 'shop:'],
    ['pipelines that it makes by itself', 'enableAutoPipelining=true', ''],
  ])('accepts ioredis set to %s', async (_what, options, prefix) => {
    const client = ioredis(options);
    const journal = redisJournal(client);
    const key = `under ${options}`;
    const all = await Promise.all(Array.from({ length: 10 }, () => journal.claim(key, chargeIntent)));
    expect(all.filter(({ state }) => state === 'claimed')).toHaveLength(1);
    expect(all.filter(({ state }) => state === 'in_progress')).toHaveLength(9);
    expect(await ioredis().exists(`${prefix}payments:journal:${key}`)).toBe(1);
  });

  test('names all keys of each write, for a cluster', async () => {
    const client = ioredis();
    const named: unknown[] = [];
    const call = (command: string, ...args: (string | number)[]) => {
      named.push(...args.slice(1, 2 + Number(args[1])));
      return client.call(command, ...args);
    };
    const journal = redisJournal({ call });
    await claimKey(journal, 'first');
    named.length = 0;
    await journal.read((await claimKey(journal, 'clustered')).key);
    const name = 'payments:journal:clustered';
    expect(named).toEqual(['2', name, 'payments:journal:\tindex', '1', name]);
  });

  test('keeps journals of two prefixes apart', async () => {
    const client = ioredis();
    await claimKey(redisJournal(client, { prefix: 'one:' }), 'order-17');
    expect(await redisJournal(client, { prefix: 'two:' }).read('order-17')).toBeNull();
    expect(await client.exists('one:order-17')).toBe(1);
  });

  test('takes the age from the clock of Redis', async () => {
    const client = ioredis();
    const journal = redisJournal(client, { lease: 5_000 });
    await claimKey(journal, 'aged');
    await client.hincrby('payments:journal:aged', 'written_at', -4_000);
    expect(await journal.claim('aged', chargeIntent)).toMatchObject({ state: 'in_progress' });
    await client.hincrby('payments:journal:aged', 'written_at', -1_001);
    expect(await journal.claim('aged', chargeIntent)).toMatchObject({ state: 'unknown' });
  });

  test('deletes records after the retention, and keeps unknown ones', async () => {
    const client = ioredis();
    const journal = redisJournal(client, { prefix: 'dropping:', retention: 60_000 });
    for (let index = 0; index < 30; index++) {
      await journal.complete(await claimKey(journal, `old ${index}`), { state: 'rejected' });
      await journal.complete(await claimKey(journal, `unknown ${index}`), { state: 'unknown' });
    }
    const begunAgain = await claimKey(journal, 'old 0');
    const names = async (pattern: string) => (await client.keys(`dropping:${pattern}`)).length;
    const later = (milliseconds: number) =>
      client.hincrby('dropping:\t{retention}:time', 'counted', milliseconds);
    const write = async () => {
      const claim = await claimKey(journal, crypto.randomUUID());
      await journal.complete(claim, { state: 'not_sent' });
    };
    await later(7 * 24 * 60 * 60 * 1000 + 30_000);
    await write();
    expect(await names('old *')).toBe(30);
    await later(30_000);
    await write();
    // It is done in the background.
    const longWait = { timeout: 10_000 };
    await vi.waitFor(async () => expect(await names('old *')).toBeLessThanOrEqual(21), longWait);
    await vi.waitFor(async () => {
      await write();
      expect(await names('old *')).toBe(1);
    }, longWait);
    expect(await names('unknown *')).toBe(30);
    expect(await journal.complete(begunAgain, { state: 'unknown' })).toBe(true);
    expect(await journal.claim('old 29', { ...chargeIntent, fingerprint: 'other' })).toMatchObject({
      state: 'claimed',
    });
  });

  test('sets no expiry by the clock of Redis', async () => {
    const client = ioredis();
    const journal = redisJournal(client, { retention: 60_000 });
    const claim = await claimKey(journal, 'kept');
    await client.pexpire('payments:journal:kept', 60_000);
    await journal.complete(claim, { state: 'not_sent' });
    expect(await client.pttl('payments:journal:kept')).toBe(-1);
  });

  test('records and keeps records if it must not count the time', async () => {
    const client = ioredis();
    const call = (command: string, ...args: (string | number)[]) =>
      String(args[0]).includes("'counted'")
        ? Promise.reject(new Error('NOPERM No permissions to access a key'))
        : client.call(command, ...args);
    const journal = redisJournal({ call }, { retention: 1 });
    await journal.complete(await claimKey(journal, 'not counted'), { state: 'not_sent' });
    expect(await client.hexists('payments:journal:not counted', 'kept_until')).toBe(0);
    expect(await journal.read('not counted')).toMatchObject({ state: 'not_sent' });
  });

  test('takes nothing as recorded inside a MULTI of its client', async () => {
    const client = ioredis();
    const journal = redisJournal(client);
    await client.call('MULTI');
    for (const refusal of [
      await catchError(journal.claim('queued', chargeIntent)),
      await catchError(journal.read('queued')),
    ])
      expect(refusal).toMatchObject({
        name: 'JournalError',
        retryable: true,
        message: expect.stringContaining('MULTI'),
      });
    await client.call('DISCARD');
    expect(await journal.read('queued')).toBeNull();
  });

  test.each([
    ['its version', (client: Redis, name: string) => client.hdel(name, 'version')],
    ['the text of its version', (client: Redis, name: string) => client.hset(name, 'version', '')],
    ['its record', (client: Redis, name: string) => client.hdel(name, 'record')],
    ['its time', (client: Redis, name: string) => client.hdel(name, 'written_at')],
    ['the form of its time', (client: Redis, name: string) => client.hset(name, 'written_at', 'noon')],
    ['its form', (client: Redis, name: string) => client.multi().del(name).set(name, 'mine').exec()],
  ])('leaves a key unresolved, never new, if its record has lost %s', async (what, lose) => {
    const client = ioredis();
    const journal = redisJournal(client);
    const claim = await claimKey(journal, `lost ${what}`);
    await journal.complete(claim, { state: 'not_sent' });
    await lose(client, `payments:journal:lost ${what}`);
    for (const failure of [
      await catchError(journal.claim(claim.key, chargeIntent)),
      await catchError(journal.read(claim.key)),
      await catchError(journal.resolve(claim.key, 'not_charged', { by: 'kofi', reason: 'not there' })),
    ])
      expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
  });

  test('recognises a command that was resent on a new connection', async () => {
    const client = ioredis();
    const call = async (command: string, ...args: (string | number)[]) => {
      await client.call(command, ...args);
      return client.call(command, ...args);
    };
    const journal = redisJournal({ call });
    const claim = await claimKey(journal, 'sent again');
    const renewed = await journal.renew(claim);
    expect(renewed).not.toBeNull();
    if (renewed)
      expect(await journal.complete(renewed, { state: 'unknown', reference: 'TXN-perhaps' })).toBe(true);
    expect(await journal.read('sent again')).toMatchObject({ state: 'unknown', reference: 'TXN-perhaps' });
  });
});

test('refuses what is not a client', () => {
  for (const client of [undefined, null, {}, 'redis://localhost']) {
    expect(() => Reflect.apply(redisJournal, undefined, [client])).toThrow(
      'redisJournal takes a client of ioredis or of redis.',
    );
  }
});
