import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RedisClient, toCommand } from '../../../src/journal/redis-client.ts';
import { readRedisWarnings } from '../../../src/journal/redis-durability.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { openRedisStore } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import { change } from '../../helpers/store-writes.ts';

let server: DatabaseServer;

/** A cluster of one node: it refuses a script whose keys would be on several nodes of a larger one. */
beforeAll(async () => {
  if (!hasRedis) return;
  server = await startRedis(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']);
  const admin = new Redis(server.port, '127.0.0.1');
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  const isReady = async () => expect(await admin.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
  await vi.waitFor(isReady, { interval: 50 });
  admin.disconnect();
});
afterAll(() => server?.stop());

const clients: [name: string, connect: () => Promise<{ client: RedisClient; close(): unknown }>][] = [
  [
    'ioredis',
    async () => {
      const client = new Cluster([{ port: server.port, host: '127.0.0.1' }]);
      return { client, close: () => client.disconnect() };
    },
  ],
  [
    'redis',
    async () => {
      const client = createCluster({ rootNodes: [{ url: server.url }] });
      client.on('error', () => {});
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  ],
];

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

describe.skipIf(!hasRedis).each(clients)('a store in a Redis Cluster through %s', (name, connect) => {
  testConformance(async (storage) => {
    const { client, close } = await connect();
    return { store: openRedisStore(client, `{${name}}:${storage}:`), close };
  });

  test('reads its settings, and refuses a prefix without a hash tag', async () => {
    const { client, close } = await connect();
    expect(await readRedisWarnings(toCommand(client))).toEqual([]);
    const store = openRedisStore(client, 'shop:');
    for (const refusal of [
      await catchError(store.read('order 17')),
      await catchError(store.write('order 17', change)),
    ]) {
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
      expect(refusal).toHaveProperty('message', expect.stringContaining('"{payments}:journal:"'));
      expect(String(Object(refusal).message).length).toBeLessThanOrEqual(200);
    }
    await close();
  });
});
