import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisJournal } from '../../../src/journal/redis.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { connectRedis, createRedisStorage } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';

const MINUTE = 60 * 1000;
const DAY = 24 * 60 * MINUTE;

let server: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
}, 60_000);
afterAll(() => server?.stop());

/** Writes a record as the version without an index does. */
async function writeAsBefore(admin: Redis, name: string, record: object, age = 60_000): Promise<void> {
  const text = JSON.stringify({ format: 1, ...chargeIntent, ...record });
  const [seconds, microseconds] = await admin.time();
  const now = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  await admin.hset(name, 'version', crypto.randomUUID(), 'record', text, 'written_at', now - age);
}

const found = (reference: string) => ({ state: 'completed', result: { reference } });

describe.skipIf(!hasRedis)('a journal in Redis of the version without an index', () => {
  test('lists, counts and follows up each of its records', async () => {
    const { admin, open, name } = createRedisStorage(server);
    await writeAsBefore(admin, name('\tservice and mode'), { service: chargeIntent.service });
    await writeAsBefore(admin, name('begun'), { state: 'begun' }, 5_000);
    await writeAsBefore(admin, name('completed'), found('TXN-Completed'), 4_000);
    await writeAsBefore(admin, name('not_sent'), { state: 'not_sent' }, 3_000);
    await writeAsBefore(admin, name('unknown'), { state: 'unknown', reference: 'TXN-unknown' }, 2_000);
    await writeAsBefore(admin, name('no reference'), { state: 'unknown' }, 1_000);
    await writeAsBefore(admin, name('not_charged'), { state: 'not_charged' }, 500);
    const keys = ['begun', 'completed', 'not_sent', 'unknown', 'no reference', 'not_charged'];
    expect(await listKeys(open())).toEqual(keys);
    const journal = open({ lease: 1_000 });
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['begun', 'unknown', 'no reference']);
    expect(await listKeys(journal, { reference: 'TXN-Completed' })).toEqual(['completed']);
    expect(await listKeys(journal, { reference: 'TXN-unknown' })).toEqual(['unknown']);
    expect(await journal.count()).toEqual({
      begun: 0,
      completed: 1,
      not_sent: 1,
      rejected: 0,
      unknown: 3,
      not_charged: 1,
    });
    expect((await claimDueKeys(journal)).toSorted()).toEqual(['begun', 'no reference', 'unknown']);
    expect(await claimDueKeys(journal)).toEqual([]);
  });

  const firstUses: [string, (journal: ReturnType<typeof redisJournal>) => Promise<unknown>, unknown][] = [
    ['list', (journal) => listKeys(journal), ['order-17']],
    ['count', (journal) => journal.count(), expect.objectContaining({ unknown: 1 })],
    ['claimDue', (journal) => claimDueKeys(journal), ['order-17']],
    ['countDue', (journal) => journal.followUps.countDue(), { due: 1, nextIn: null }],
  ];
  test.each(firstUses)('is searched by the first %s', async (_method, use, result) => {
    const { admin, open, name } = createRedisStorage(server);
    await writeAsBefore(admin, name('order-17'), { state: 'unknown' });
    expect(await use(open())).toEqual(result);
  });

  test('charges and resolves its keys before any search', async () => {
    const { admin, open, name } = createRedisStorage(server);
    for (const key of ['rejected', 'unknown']) await writeAsBefore(admin, name(key), { state: key });
    const journal = open();
    await journal.complete(await claimKey(journal, 'rejected'), { state: 'unknown' });
    await journal.resolve('unknown', 'not_charged', { by: 'kofi@shop.example', reason: 'no such payment' });
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['rejected']);
    expect(await listKeys(journal, { state: 'not_charged' })).toEqual(['unknown']);
  });

  test.each(['shop*[a-z]?', String.raw`back\slash `, '[', 'a-z^', '{tag}:'])(
    'finds the records under the prefix %j, and no others',
    async (start) => {
      const id = crypto.randomUUID();
      const { admin, open, name, prefix } = createRedisStorage(server, `${start}${id}:`);
      await writeAsBefore(admin, name('order-17'), { state: 'unknown' });
      for (const other of ['shopxxa!', 'back', 'b'])
        await writeAsBefore(admin, `${other}${id}:order-18`, { state: 'unknown' });
      expect(prefix).toContain(start);
      expect(await listKeys(open())).toEqual(['order-17']);
      expect(await admin.hexists(`shopxxa!${id}:order-18`, 'index')).toBe(0);
    },
  );

  test('leaves alone what is not its record, or of a newer version', async () => {
    const { admin, open, name } = createRedisStorage(server);
    await writeAsBefore(admin, name('newer'), { format: 3, state: 'unknown' });
    await writeAsBefore(admin, name('no state'), { state: 'held' });
    await admin.hset(name('settings'), 'colour', 'red');
    await admin.hset(name('damaged'), 'version', 'one', 'record', '{', 'written_at', '1');
    await admin.set(name('counter'), '17');
    await admin.rpush(name('queue'), 'job');
    await writeAsBefore(admin, name('order-17'), { state: 'unknown' });
    const contents = () =>
      Promise.all(['newer', 'no state', 'settings', 'damaged'].map((key) => admin.hgetall(name(key))));
    const before = await contents();
    const journal = open();
    expect(await listKeys(journal)).toEqual(['order-17']);
    expect(await claimDueKeys(journal)).toEqual(['order-17']);
    expect(await contents()).toEqual(before);
    expect(await catchError(journal.claim('newer', chargeIntent))).toMatchObject({ outcome: 'unknown' });
  });

  test('finds a record whose result is odd', async () => {
    const { admin, open, name } = createRedisStorage(server);
    const result = {
      reference: 'TXN-odd',
      message: `half \ud800 a character, "state":"unknown" \u0000 \\ud800`,
      state: 'unknown',
      nested: { reference: 'TXN-nested' },
    };
    await writeAsBefore(admin, name('caf\u00e9 \u{1f4b3} {x} *'), { state: 'completed', result });
    const journal = open();
    expect(await listKeys(journal, { state: 'completed' })).toEqual(['caf\u00e9 \u{1f4b3} {x} *']);
    expect(await listKeys(journal, { reference: 'TXN-odd' })).toEqual(['caf\u00e9 \u{1f4b3} {x} *']);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual([]);
  });

  test('is searched by many processes at once, and each lists all of it', async () => {
    const { admin, open, name, index } = createRedisStorage(server);
    const keys = Array.from({ length: 1_000 }, (_, number) => `order-${number}`);
    await Promise.all(keys.map((key) => writeAsBefore(admin, name(key), { state: 'unknown' })));
    const writer = open();
    const writes = Array.from({ length: 50 }, (_, number) => claimKey(writer, `new ${number}`));
    const journals = [open(), open(), open(), open()];
    for (const listed of await Promise.all(
      journals.map((journal) => listKeys(journal, { state: 'unknown' })),
    ))
      expect(listed.toSorted()).toEqual(keys.toSorted());
    await Promise.all(writes);
    expect(await writer.count()).toMatchObject({ unknown: 1_000, begun: 50 });
    // For each: its state, when it is due, and no reference; and how far the search is.
    expect(await index()).toHaveLength(2 * 1_050 + 1);
  });

  test('is searched by another process, if one dies at any step', async () => {
    const { admin, name, prefix, open } = createRedisStorage(server);
    const keys = Array.from({ length: 500 }, (_, number) => `order-${number}`);
    await Promise.all(keys.map((key) => writeAsBefore(admin, name(key), { state: 'unknown' })));
    const client = connectRedis(server);
    for (const steps of [1, 2, 3]) {
      let left = steps;
      const call = (command: string, ...args: (string | number)[]) =>
        left-- > 0 ? client.call(command, ...args) : Promise.reject(new Error('killed'));
      const killed = redisJournal({ call }, { prefix });
      expect(await catchError(listKeys(killed))).toMatchObject({ name: 'JournalError', retryable: true });
    }
    expect(await listKeys(open(), { state: 'unknown' })).toHaveLength(500);
    expect(await claimDueKeys(open())).toHaveLength(500);
  });

  test('is searched again for what an old process has written meanwhile', async () => {
    const { admin, name, open, setAhead } = createRedisStorage(server);
    const journal = open({ lease: 1_000 });
    expect(await listKeys(journal)).toEqual([]);
    const pauses: number[] = [];
    let passed = 0;
    while (passed < 4 * DAY) {
      const key = `old ${pauses.length}`;
      await writeAsBefore(admin, name(key), { state: 'unknown' });
      // As long as the time since the first search, a day at most.
      const pause = Math.min(Math.max(passed, MINUTE), DAY);
      pauses.push(pause);
      setAhead(passed + pause - 1_000);
      expect(await listKeys(journal)).not.toContain(key);
      passed += pause + 5_000;
      setAhead(passed);
      // A call takes part in a search for a tenth of a second.
      for (let calls = 0; calls < 20 && !(await listKeys(journal)).includes(key); calls++);
      expect(await listKeys(journal)).toContain(key);
      expect(await claimDueKeys(journal)).toContain(key);
    }
    expect(pauses.length).toBeLessThan(16);
  });

  test('is searched again when the clock of Redis went back', async () => {
    const { admin, name, open, setAhead } = createRedisStorage(server);
    const journal = open();
    setAhead(365 * DAY);
    expect(await listKeys(journal)).toEqual([]);
    setAhead(0);
    await writeAsBefore(admin, name('order-17'), { state: 'unknown' });
    expect(await listKeys(journal)).toEqual(['order-17']);
    await writeAsBefore(admin, name('order-18'), { state: 'unknown' });
    expect(await listKeys(journal)).toEqual(['order-17']);
    setAhead(MINUTE + 1_000);
    expect((await listKeys(journal)).toSorted()).toEqual(['order-17', 'order-18']);
  });

  test('corrects what it knew of a record that an old process changed', async () => {
    const { admin, name, open } = createRedisStorage(server);
    for (const key of ['completes', 'rejects', 'stays unknown', 'is dropped', 'is renewed'])
      await writeAsBefore(admin, name(key), { state: 'begun' });
    const journal = open({ lease: 1_000 });
    expect(await listKeys(journal, { state: 'unknown' })).toHaveLength(5);
    await writeAsBefore(admin, name('is renewed'), { state: 'begun' }, 0);
    await writeAsBefore(admin, name('completes'), found('TXN-late'), 0);
    await writeAsBefore(admin, name('rejects'), { state: 'rejected' }, 0);
    await writeAsBefore(admin, name('stays unknown'), { state: 'unknown', reference: 'TXN-perhaps' }, 0);
    await admin.del(name('is dropped'));
    expect(await listKeys(journal, { state: 'begun' })).toEqual(['is renewed']);
    // The dropped one is counted until it is claimed.
    expect(await journal.followUps.countDue()).toEqual({ due: 3, nextIn: null });
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['stays unknown']);
    expect(await listKeys(journal, { state: 'completed' })).toEqual(['completes']);
    expect(await listKeys(journal, { reference: 'TXN-late' })).toEqual(['completes']);
    expect(await journal.count()).toMatchObject({ begun: 1, unknown: 1, completed: 1, rejected: 1 });
    expect((await claimDueKeys(journal)).toSorted()).toEqual(['is renewed', 'stays unknown']);
  });

  test('never claims as due what an old process has completed', async () => {
    const { admin, name, open } = createRedisStorage(server);
    await writeAsBefore(admin, name('order-17'), { state: 'begun' });
    const journal = open({ lease: 1_000 });
    expect(await journal.followUps.countDue()).toEqual({ due: 1, nextIn: null });
    await writeAsBefore(admin, name('order-17'), found('TXN-late'), 0);
    expect(await claimDueKeys(journal)).toEqual([]);
    expect(await journal.followUps.countDue()).toEqual({ due: 0, nextIn: null });
    expect(await listKeys(journal, { reference: 'TXN-late' })).toEqual(['order-17']);
  });

  test('gives a record to the journal with the longer prefix', async () => {
    const { admin, name, open, prefix } = createRedisStorage(server);
    const inner = createRedisStorage(server, `${prefix}eu:`);
    await writeAsBefore(admin, name('order-17'), { state: 'unknown' });
    await writeAsBefore(admin, inner.name('order-18'), { state: 'unknown' });
    await claimKey(inner.open(), 'order-19');
    expect((await listKeys(open())).toSorted()).toEqual(['eu:order-18', 'order-17']);
    expect((await listKeys(inner.open())).toSorted()).toEqual(['order-18', 'order-19']);
    expect(await listKeys(open())).toEqual(['order-17']);
    expect(await claimDueKeys(open())).toEqual(['order-17']);
    expect(await claimDueKeys(inner.open())).toEqual(['order-18']);
  });
});
