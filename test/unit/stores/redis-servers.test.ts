/** What a journal needs of the server: its settings, and the slots of a cluster. */

import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisClient, toCommand } from '../../../src/stores/redis/client.ts';
import { readRedisWarnings } from '../../../src/stores/redis/durability.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { connectNodeRedis, connectRedis, openRedisStore } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import { change } from '../../helpers/store-writes.ts';

const useServer = (...settings: string[]) => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startRedis(settings);
  });
  afterAll(() => server?.stop());
  return () => server;
};

test('sends a cluster of redis each script with its first name, and to a primary', async () => {
  const sendCommand = vi.fn(async () => [1, '1']);
  const command = toCommand({ sendCommand, getRandomNode: () => {} });
  await command('EVALSHA', 'digest', '2', 'key 17', 'index');
  await command('CONFIG', 'GET', 'appendonly');
  expect(sendCommand.mock.calls).toEqual([
    ['key 17', false, ['EVALSHA', 'digest', '2', 'key 17', 'index']],
    [undefined, false, ['CONFIG', 'GET', 'appendonly']],
  ]);
});

/** It has one node, and refuses a script whose keys would be on several nodes of a larger one. */
describe.skipIf(!hasRedis)('a Redis Cluster', () => {
  const getServer = useServer('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
  const clients: [name: string, connect: () => Promise<{ client: RedisClient; close(): unknown }>][] = [
    [
      'ioredis',
      async () => {
        const client = new Cluster([{ port: getServer().port, host: '127.0.0.1' }]);
        return { client, close: () => client.disconnect() };
      },
    ],
    [
      'redis',
      async () => {
        const client = createCluster({ rootNodes: [{ url: getServer().url }] });
        client.on('error', () => {});
        await client.connect();
        return { client, close: () => client.destroy() };
      },
    ],
  ];

  beforeAll(async () => {
    const admin = new Redis(getServer().port, '127.0.0.1');
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const isReady = async () => expect(await admin.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    await vi.waitFor(isReady, { interval: 50, timeout: PATIENCE });
    admin.disconnect();
  });

  describe.each(clients)('through %s', (name, connect) => {
    testConformance(async (storage) => {
      const { client, close } = await connect();
      return { store: openRedisStore(client, `{${name}}:${storage}:`), close };
    });

    test('shows its settings, and needs a prefix with a hash tag', async () => {
      const { client, close } = await connect();
      onTestFinished(() => void close());
      expect(await readRedisWarnings(toCommand(client))).toEqual([]);
      const store = openRedisStore(client, 'shop:');
      for (const step of [() => store.read('order 17'), () => store.write('order 17', change)]) {
        const refusal = await catchError(step());
        expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
        expect(String(refusal)).toContain('"{payments}:journal:"');
        expect(Object(refusal).message.length).toBeLessThanOrEqual(200);
      }
    });
  });
});

describe.skipIf(!hasRedis)('the settings of Redis', () => {
  const getServer = useServer();
  const sufficient = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };

  /** Changes settings for a test. */
  async function set(changed: Record<string, string>): Promise<Redis> {
    const admin = connectRedis(getServer());
    const write = async (settings: object) => {
      for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
    };
    onTestFinished(async () => {
      await write(sufficient);
      // Redis does not stop while it writes its first append-only file.
      const isWritten = async () =>
        expect(await admin.info('persistence')).toMatch(
          /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/,
        );
      await vi.waitFor(isWritten, { timeout: PATIENCE });
    });
    await write(changed);
    return admin;
  }

  test.each([
    ['appendfsync', 'everysec', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendfsync', 'no', 'a crash of Redis or of the machine', 'Set appendfsync always.'],
    ['appendonly', 'no', 'any restart of Redis', 'Set appendonly yes.'],
    ['maxmemory-policy', 'allkeys-lru', 'when its memory is full', 'Set maxmemory-policy noeviction.'],
  ])('are warned of through each client and protocol: %s %s', async (setting, value, loss, instead) => {
    const admin = await set({ [setting]: value });
    for (const client of [
      admin,
      await connectNodeRedis(getServer(), 2),
      await connectNodeRedis(getServer(), 3),
    ]) {
      const [warning, ...others] = await readRedisWarnings(toCommand(client));
      expect([warning, others]).toEqual([{ setting, value, message: expect.stringContaining(loss) }, []]);
      expect(warning?.message).toContain(instead);
      expect(warning?.message.length).toBeLessThanOrEqual(200);
    }
  });

  test('are read from a map too, which a client can return', async () => {
    const warnings = await readRedisWarnings(async (...[, , setting = '']) => new Map([[setting, 'no']]));
    expect(warnings).toMatchObject([{ setting: 'appendonly', value: 'no' }]);
  });

  test.each([{}, { 'maxmemory-policy': 'volatile-lru' }])('are sufficient: %j', async (more) => {
    expect(await readRedisWarnings(toCommand(await set(more)))).toEqual([]);
  });

  test('are no warning if the user must not run CONFIG', async () => {
    const admin = await set({ appendfsync: 'everysec' });
    await admin.call('ACL', 'SETUSER', 'shop', 'on', '>secret', '~*', '+@all', '-config');
    const url = getServer().url.replace('//', '//shop:secret@');
    const client = connectRedis({ ...getServer(), url });
    expect(await openRedisStore(client, 'no config:').write('order 17', change)).toBe(true);
    expect(await readRedisWarnings(toCommand(client))).toEqual([]);
  });
});
