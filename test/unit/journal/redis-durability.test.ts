import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JournalWarningEvent, PaymentsEvent } from '../../../src/index.ts';
import { buildJournal } from '../../../src/journal/create-journal.ts';
import { type Journal, memoryStore } from '../../../src/journal/index.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { toCommand } from '../../../src/journal/redis-client.ts';
import { readRedisWarnings } from '../../../src/journal/redis-durability.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { connectNodeRedis, openRedisStore } from '../../helpers/redis-storage.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { change } from '../../helpers/store-writes.ts';

/** Creates a client of the package over a journal, with the warnings that it reported and logged. */
async function listenForWarnings(journal: Journal) {
  const service = await startService((response, _, count) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const events: JournalWarningEvent[] = [];
  const warned: string[] = [];
  const nothing = () => {};
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'journal_warning') events.push(event);
  };
  const logger = {
    debug: nothing,
    info: nothing,
    warn: (line: string) => warned.push(line),
    error: nothing,
  };
  const payments = service.client({ journal, onEvent, logger });
  const pay = () => payments.chargeMobileMoney(charge, { idempotencyKey: crypto.randomUUID() });
  return { events, warned, pay, service };
}

describe.skipIf(!hasRedis)('a journal in Redis', () => {
  let server: DatabaseServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.port, '127.0.0.1');
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.stop();
  });
  const sufficient = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
  const set = async (settings: object) => {
    for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
  };
  afterEach(async () => {
    await set(sufficient);
    // A journal belongs to one service, and each test has a service of its own.
    await admin.flushall();
  });

  function ioredis(url = server.url): Redis {
    const client = new Redis(url);
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    return client;
  }

  const insufficient: [string, string, string, string][] = [
    ['appendfsync', 'everysec', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendfsync', 'no', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendonly', 'no', 'any restart of Redis', 'Set appendonly yes.'],
    ['maxmemory-policy', 'allkeys-lru', 'when its memory is full', 'Set maxmemory-policy noeviction.'],
  ];
  test.each(insufficient)('warns of %s %s', async (setting, value, loss, instead) => {
    await set({ [setting]: value });
    const warnings = await readRedisWarnings(toCommand(ioredis()));
    expect(warnings).toEqual([{ setting, value, message: expect.any(String) }]);
    expect(warnings[0]?.message).toContain(loss);
    expect(warnings[0]?.message).toContain(instead);
    expect(warnings[0]?.message.length).toBeLessThanOrEqual(200);
  });

  test('warns once, with the first charge, in an event and a line', async () => {
    await set({ appendonly: 'no' });
    const client = ioredis();
    const journal = redisJournal(client);
    const { events, warned, pay, service } = await listenForWarnings(journal);
    await Promise.all([pay(), pay()]);
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events).toMatchObject([{ type: 'journal_warning', setting: 'appendonly', value: 'no' }]);
    expect(warned).toEqual([`payments: ${events[0]?.message}`]);
    await pay();
    const again = service.client({
      journal,
      onEvent: (event) => expect(event.type).not.toBe('journal_warning'),
    });
    await again.chargeMobileMoney(charge, { idempotencyKey: crypto.randomUUID() });
    // Whatever the journal had read again would have been reported before this.
    await readRedisWarnings(toCommand(client));
    expect(events).toHaveLength(1);
  });

  test('warns through each client and protocol', async () => {
    await set({ appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lfu' });
    const clients = [ioredis(), await connectNodeRedis(server, 2), await connectNodeRedis(server, 3)];
    for (const client of clients) {
      expect(await readRedisWarnings(toCommand(client))).toMatchObject([
        { setting: 'appendfsync', value: 'everysec' },
        { setting: 'maxmemory-policy', value: 'allkeys-lfu' },
      ]);
    }
  });

  test.each([{}, { 'maxmemory-policy': 'volatile-lru' }])(
    'reports no sufficient setting: %j',
    async (more) => {
      await set(more);
      expect(await readRedisWarnings(toCommand(ioredis()))).toEqual([]);
    },
  );

  test('reports nothing if its user must not run CONFIG', async () => {
    await set({ appendfsync: 'everysec' });
    await admin.call('ACL', 'SETUSER', 'shop', 'on', '>secret', '~*', '+@all', '-config');
    const client = ioredis(`redis://shop:secret@127.0.0.1:${server.port}`);
    expect(await openRedisStore(client, 'no config:').write('order 17', change)).toBe(true);
    expect(await readRedisWarnings(toCommand(client))).toEqual([]);
  });

  test('reports nothing if the server has no CONFIG', async () => {
    const managed = await startRedis(['--appendfsync', 'everysec', '--rename-command', 'CONFIG', '']);
    onTestFinished(() => managed.stop());
    const client = ioredis(managed.url);
    expect(await openRedisStore(client, 'no config:').write('order 17', change)).toBe(true);
    expect(await readRedisWarnings(toCommand(client))).toEqual([]);
  });
});

describe('reading the settings of a database', () => {
  const odd: [string, () => Promise<never>][] = [
    ['never comes', () => new Promise(() => {})],
    ['fails', () => Promise.reject(new Error('broken'))],
  ];
  test.each(odd)('delays and fails no charge if it %s', async (_how, warnings) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => {
      process.off('unhandledRejection', unhandled);
    });
    const getWarnings = vi.fn(warnings);
    const journal = buildJournal(memoryStore(), {}, getWarnings);
    const { events, pay } = await listenForWarnings(journal);
    expect(await pay()).toMatchObject({ status: 'processing' });
    expect(await pay()).toMatchObject({ status: 'processing' });
    expect(getWarnings).toHaveBeenCalledOnce();
    expect(events).toEqual([]);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
