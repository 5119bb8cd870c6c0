import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { claimKey, completeKey, tryClaim } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';

let server: DatabaseServer;

beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
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
    const cases = journalConformance((options, prefix) => {
      const client = new Redis(server.port, '127.0.0.1');
      return { journal: redisJournal(client, { ...options, prefix }), close: () => client.quit() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  if (isExhaustive)
    describe('conforms through redis', () => {
      const cases = journalConformance(async (options, prefix) => {
        const client = await nodeRedis();
        return { journal: redisJournal(client, { ...options, prefix }), close: () => client.close() };
      });
      test.each(cases)('$name', ({ run }) => run());
    });

  test('charges on after Redis has forgotten its scripts', async () => {
    const client = ioredis();
    const journal = redisJournal(client, { prefix: 'forgotten:' });
    await claimKey(journal, 'order-1');
    await client.call('SCRIPT', 'FLUSH');
    expect(await tryClaim(journal, 'order-1')).toMatchObject({
      state: 'in_progress',
    });
    await client.call('SCRIPT', 'FLUSH');
    expect(await claimKey(journal, 'order-2')).toMatchObject({ key: 'order-2' });
  });

  test('sends a script once, and many writes without waiting for each other', async () => {
    const sent: string[][] = [];
    let reply: () => void = () => {};
    const replies = new Promise<void>((resolve) => {
      reply = resolve;
    });
    const client = ioredis();
    const core = getJournalCore(
      redisJournal(
        {
          async call(command, ...args) {
            const result = client.call(command, ...args);
            if (command.startsWith('EVAL')) sent.push([command, ...args.map(String)]);
            if (sent.length > 2) await replies;
            return await result;
          },
        },
        { prefix: 'at once:' },
      ),
    );
    const change = { expected: null, text: '{}', mustCommit: true, index: null, dueIn: null };
    await client.call('SCRIPT', 'FLUSH');
    await core.store.write('order-0', { ...change, version: 'of order-0' });
    expect(sent.map(([command]) => command)).toEqual(['EVALSHA', 'EVAL']);
    const keys = Array.from({ length: 64 }, (_, number) => `order-${number + 1}`);
    const written = keys.map((key) => core.store.write(key, { ...change, version: `of ${key}` }));
    await vi.waitFor(() => expect(sent).toHaveLength(66));
    expect(new Set(sent.slice(2).map(([command]) => command))).toEqual(new Set(['EVALSHA']));
    reply();
    expect(await Promise.all(written)).toEqual(Array(64).fill(true));
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
      await completeKey(writer, key, {
        state: 'unknown',
        reference: 'TXN-perhaps',
      });
      for (const reader of journals) {
        expect(await reader.read(key)).toMatchObject({ state: 'unknown', reference: 'TXN-perhaps' });
        expect(await tryClaim(reader, key)).toMatchObject({ state: 'unknown' });
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
    const all = await Promise.all(Array.from({ length: 10 }, () => tryClaim(journal, key)));
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
    // The service of the journal is read again each second.
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await claimKey(journal, 'first');
    named.length = 0;
    await journal.read((await claimKey(journal, 'clustered')).key);
    const name = 'payments:journal:clustered';
    const index = 'payments:journal:\tindex';
    expect(named).toEqual(['2', name, index, '2', name, index]);
  });

  test('keeps journals of two prefixes apart', async () => {
    const client = ioredis();
    await claimKey(redisJournal(client, { prefix: 'one:' }), 'order-17');
    await claimKey(redisJournal(client, { prefix: 'two:' }), 'order-18');
    expect(await redisJournal(client, { prefix: 'two:' }).read('order-17')).toBeNull();
    expect(await client.exists('one:order-17')).toBe(1);
  });

  test('takes the age from the clock of Redis', async () => {
    const client = ioredis();
    const journal = redisJournal(client, { lease: 5_000 });
    await claimKey(journal, 'aged');
    await client.hincrby('payments:journal:aged', 'written_at', -4_000);
    expect(await tryClaim(journal, 'aged')).toMatchObject({ state: 'in_progress' });
    await client.hincrby('payments:journal:aged', 'written_at', -1_001);
    expect(await tryClaim(journal, 'aged')).toMatchObject({ state: 'unknown' });
  });

  test('sets no expiry by the clock of Redis', async () => {
    const client = ioredis();
    const journal = redisJournal(client);
    const claim = await claimKey(journal, 'kept');
    await client.pexpire('payments:journal:kept', 60_000);
    await getJournalCore(journal).complete(claim, { state: 'not_sent' });
    expect(await client.pttl('payments:journal:kept')).toBe(-1);
  });

  test('takes nothing as recorded inside a MULTI of its client', async () => {
    const client = ioredis();
    const journal = redisJournal(client);
    await client.call('MULTI');
    for (const refusal of [
      await catchError(tryClaim(journal, 'queued')),
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
    await getJournalCore(journal).complete(claim, { state: 'not_sent' });
    await lose(client, `payments:journal:lost ${what}`);
    for (const failure of [
      await catchError(tryClaim(journal, claim.key)),
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
    const renewed = await getJournalCore(journal).renew(claim);
    expect(renewed).not.toBeNull();
    if (renewed)
      expect(
        await getJournalCore(journal).complete(renewed, { state: 'unknown', reference: 'TXN-perhaps' }),
      ).toBe(true);
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
