import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { toCommand } from '../../../src/journal/redis-client.ts';
import { readRedisWarnings } from '../../../src/journal/redis-durability.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { connectNodeRedis, connectRedis, openRedisStore } from '../../helpers/redis-storage.ts';
import { change } from '../../helpers/store-writes.ts';

describe.skipIf(!hasRedis)('the settings of Redis', () => {
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
    // Redis does not stop while it writes its first append-only file.
    const isWritten = async () =>
      expect(await admin.info('persistence')).toMatch(/aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/);
    await vi.waitFor(isWritten, { timeout: PATIENCE });
  });
  const read = (client = connectRedis(server)) => readRedisWarnings(toCommand(client));

  test.each([
    ['appendfsync', 'everysec', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendfsync', 'no', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendonly', 'no', 'any restart of Redis', 'Set appendonly yes.'],
    ['maxmemory-policy', 'allkeys-lru', 'when its memory is full', 'Set maxmemory-policy noeviction.'],
  ])('are warned of: %s %s', async (setting, value, loss, instead) => {
    await set({ [setting]: value });
    const warnings = await read();
    expect(warnings).toEqual([{ setting, value, message: expect.stringContaining(loss) }]);
    expect(warnings[0]?.message).toContain(instead);
    expect(warnings[0]?.message.length).toBeLessThanOrEqual(200);
  });

  test('are read through each client and protocol', async () => {
    await set({ appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lfu' });
    for (const client of [await connectNodeRedis(server, 2), await connectNodeRedis(server, 3)])
      expect(await readRedisWarnings(toCommand(client))).toMatchObject([
        { setting: 'appendfsync', value: 'everysec' },
        { setting: 'maxmemory-policy', value: 'allkeys-lfu' },
      ]);
  });

  test('are read from a map too, which a client can return', async () => {
    const warnings = await readRedisWarnings(async (...[, , setting = '']) => new Map([[setting, 'no']]));
    expect(warnings).toMatchObject([{ setting: 'appendonly', value: 'no' }]);
  });

  test.each([{}, { 'maxmemory-policy': 'volatile-lru' }])('are sufficient: %j', async (more) => {
    await set(more);
    expect(await read()).toEqual([]);
  });

  test('are no warning if the user must not run CONFIG', async () => {
    await set({ appendfsync: 'everysec' });
    await admin.call('ACL', 'SETUSER', 'shop', 'on', '>secret', '~*', '+@all', '-config');
    const client = connectRedis({ ...server, url: server.url.replace('//', '//shop:secret@') });
    expect(await openRedisStore(client, 'no config:').write('order 17', change)).toBe(true);
    expect(await read(client)).toEqual([]);
  });
});
