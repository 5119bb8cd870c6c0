import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type Journal, MAX_DUE_IN } from '../../../src/journal/index.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { createRedisStore } from '../../../src/journal/redis-store.ts';
import { completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { connectRedis, createRedisStorage } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

const DAY = 24 * 60 * 60 * 1000;

let server: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

async function recordUnknown(journal: Journal, key: string, reference?: string): Promise<void> {
  await completeKey(journal, key, { state: 'unknown', reference });
}

describe.skipIf(!hasRedis)('the index of a journal in Redis', () => {
  test('is read with one command a page, however many keys are completed', async () => {
    const { admin, open, index } = createRedisStorage(server);
    const journal = open();
    const completed = chooseSize(2_000, 20_000);
    for (let count = 0; count < completed; count += 100) {
      const keys = Array.from({ length: 100 }, (_, number) => `completed ${count + number}`);
      await Promise.all(
        keys.map(async (key) =>
          completeKey(journal, key, {
            state: 'completed',
            result: { reference: `TXN-${key}` },
          }),
        ),
      );
    }
    const unresolved = Array.from({ length: 50 }, (_, number) => `unresolved ${number + 10}`);
    for (const key of unresolved) await recordUnknown(journal, key);
    await journal.count();
    await admin.config('RESETSTAT');
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(unresolved);
    const calls = parseCalls(await admin.info('commandstats'));
    // One page of begun keys, one of unknown ones, and the 50 records.
    expect(calls).toMatchObject({ eval: 2, hmget: 50 });
    expect(calls.zrangebylex).toBeLessThanOrEqual(4);
    expect(Object.keys(calls).sort()).toEqual([
      'config|resetstat',
      'eval',
      'exists',
      'hmget',
      'time',
      'type',
      'zrangebylex',
    ]);
    expect(await index()).toHaveLength(3 * completed + 2 * unresolved.length + 1);
  });

  test('takes a record as due if its time is too late: the clock went back', async () => {
    const { open, setAhead } = createRedisStorage(server);
    const journal = open();
    setAhead(DAY);
    await recordUnknown(journal, 'order-17');
    setAhead(DAY - MAX_DUE_IN + 5_000);
    expect(await countDue(journal)).toMatchObject({
      due: 0,
      nextIn: expect.any(Number),
    });
    expect(await claimDueKeys(journal)).toEqual([]);
    setAhead(0);
    await recordUnknown(journal, 'order-18');
    expect(await countDue(journal)).toEqual({
      due: 2,
      nextIn: null,
    });
    expect(await claimDueKeys(journal)).toEqual(['order-18', 'order-17']);
    expect(await claimDueKeys(journal)).toEqual([]);
  });

  test('drops records that are gone', async () => {
    const { admin, open, name, index } = createRedisStorage(server);
    const journal = open();
    for (const key of ['gone', 'kept', 'gone caf\u00e9 \u{1f4b3}'])
      await recordUnknown(journal, key, `TXN-${key}`);
    await admin.del(name('gone'), name('gone caf\u00e9 \u{1f4b3}'));
    expect(await claimDueKeys(journal, { limit: 1 })).toEqual(['kept']);
    expect(await listKeys(journal)).toEqual(['kept']);
    expect(await listKeys(journal, { reference: 'TXN-gone' })).toEqual([]);
    expect(await journal.count()).toMatchObject({ unknown: 1 });
    expect((await index()).filter((member) => member.endsWith('\tgone'))).toEqual([]);
  });

  test('names the keys whose records cannot be read, after all others', async () => {
    const { admin, open, name, setAhead } = createRedisStorage(server);
    const journal = open();
    for (const key of ['newer', 'no version', 'text', 'right']) await recordUnknown(journal, key);
    await admin.hset(name('newer'), 'record', '{"format":3,"state":"unknown"}');
    await admin.hdel(name('no version'), 'version');
    await admin.multi().del(name('text')).set(name('text'), 'mine').exec();
    const listed: string[] = [];
    const failure = await catchError(
      (async () => {
        for await (const { key } of journal.list({ state: 'unknown' })) listed.push(key);
      })(),
    );
    expect(listed).toEqual(['right']);
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown' });
    for (const key of ['newer', 'no version', 'text'])
      expect(Object(failure).message).toContain(JSON.stringify(key));
    const unreadable: string[] = [];
    const claim = {
      kind: 'key' as const,
      limit: 10,
      lease: 60_000,
      onUnreadable: (keys: readonly string[]) => void unreadable.push(...keys),
    };
    const records = await getJournalCore(journal).followUps.claimDue(claim);
    expect(records.map(({ key }) => key)).toEqual(['right']);
    expect(unreadable.toSorted()).toEqual(['newer', 'no version', 'text']);
    expect(await getJournalCore(journal).followUps.claimDue(claim)).toEqual([]);
    expect(unreadable).toHaveLength(3);
    setAhead(60_000);
    await getJournalCore(journal).followUps.claimDue(claim);
    expect(unreadable).toHaveLength(6);
    expect(await admin.hget(name('newer'), 'record')).toBe('{"format":3,"state":"unknown"}');
    expect(await admin.get(name('text'))).toBe('mine');
  });

  test('refuses a charge, with nothing recorded, if its name holds another value', async () => {
    const { admin, open, name, prefix } = createRedisStorage(server);
    await admin.set(`${prefix}\tindex`, 'mine');
    const journal = open();
    expect(await catchError(tryClaim(journal, 'order-17'))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
    });
    expect(await admin.exists(name('order-17'))).toBe(0);
    expect(await catchError(journal.count())).toMatchObject({ name: 'JournalError' });
  });

  test('is read alike through both clients, both protocols, and numbers as text', async () => {
    const { prefix } = createRedisStorage(server);
    const [two, three] = await Promise.all(
      ([2, 3] as const).map((RESP) => createClient({ url: server.url, RESP }).connect()),
    );
    onTestFinished(() => {
      two?.destroy();
      three?.destroy();
    });
    if (!two || !three) throw new Error('no clients');
    const clients = [
      connectRedis(server),
      connectRedis(server, 'stringNumbers=true'),
      connectRedis(server, 'enableAutoPipelining=true'),
      two,
      three,
    ];
    for (const [number, client] of clients.entries()) {
      const journal = redisJournal(client, { prefix: `${prefix}${number}:` });
      await recordUnknown(journal, 'order-17', 'TXN-17');
      expect(await listKeys(journal, { reference: 'TXN-17' })).toEqual(['order-17']);
      expect(await journal.count()).toMatchObject({ unknown: 1, completed: 0 });
      expect(await countDue(journal)).toEqual({
        due: 1,
        nextIn: null,
      });
      const [claimed] = await getJournalCore(journal).followUps.claimDue({
        kind: 'key',
        limit: 2,
        lease: 1_000,
      });
      expect(claimed).toMatchObject({ key: 'order-17', entry: { state: 'unknown', reference: 'TXN-17' } });
      expect(Math.abs(Date.now() - (claimed?.entry.updatedAt ?? 0))).toBeLessThan(10_000);
    }
  });

  test("is found under the client's own prefix", async () => {
    const { prefix } = createRedisStorage(server);
    const journal = redisJournal(connectRedis(server, `keyPrefix=${prefix}`), { prefix: 'journal:' });
    await recordUnknown(journal, 'order-17');
    expect(await listKeys(journal)).toEqual(['order-17']);
    expect(await claimDueKeys(journal)).toEqual(['order-17']);
    expect(await listKeys(redisJournal(connectRedis(server), { prefix: `${prefix}journal:` }))).toEqual([
      'order-17',
    ]);
  });

  test('has no record that a write took out of it', async () => {
    const { admin, prefix, index } = createRedisStorage(server);
    const store = createRedisStore((command, ...args) => admin.call(command, ...args), prefix);
    const found = { kind: 'key', state: 'unknown', createdAt: 17, reference: 'txn-1' } as const;
    const text = JSON.stringify({ format: 2, state: 'unknown' });
    const write = { text, mustCommit: true, dueIn: null };
    await store.write('key', { ...write, expected: null, version: 'one', index: found });
    expect(await store.count?.()).toMatchObject({ unknown: 1 });
    await store.write('key', { ...write, expected: 'one', version: 'two', index: null });
    expect(await store.count?.()).toEqual({});
    expect(await index()).toEqual(['journal']);
    expect(await admin.hexists(`${prefix}key`, 'state')).toBe(0);
  });

  test('is not read inside a MULTI of the client', async () => {
    const client = connectRedis(server);
    const journal = redisJournal(client);
    await client.call('MULTI');
    for (const refusal of [
      await catchError(listKeys(journal)),
      await catchError(journal.count()),
      await catchError(getJournalCore(journal).followUps.claimDue({ kind: 'key', limit: 1, lease: 1_000 })),
      await catchError(countDue(journal)),
    ])
      expect(refusal).toMatchObject({ name: 'JournalError', message: expect.stringContaining('MULTI') });
    await client.call('DISCARD');
  });
});

/** Returns how often each command was called. */
function parseCalls(stats: string): Record<string, number> {
  const lines = stats.matchAll(/^cmdstat_(.*?):calls=(\d+)/gm);
  return Object.fromEntries(Array.from(lines, ([, command, calls]) => [command, Number(calls)]));
}
