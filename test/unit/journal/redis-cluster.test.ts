import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisClient, toCommand } from '../../../src/journal/redis-client.ts';
import { readRedisWarnings } from '../../../src/journal/redis-durability.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { openRedisStore } from '../../helpers/redis-storage.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { change, changeWith, claimKeys, listAll, listAttention } from '../../helpers/store-writes.ts';

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

interface Connected {
  client: RedisClient;
  close(): unknown;
}

function connectIoRedis(): Connected {
  const client = new Cluster([{ port: server.port, host: '127.0.0.1' }]);
  return { client, close: () => client.disconnect() };
}

async function connectNodeRedis(): Promise<Connected> {
  const client = createCluster({ rootNodes: [{ url: server.url }] });
  client.on('error', () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
}

const clients = [
  ['ioredis', connectIoRedis],
  ['redis', connectNodeRedis],
] as const;

describe.skipIf(!hasRedis)('a store in a Redis Cluster', () => {
  describe.each(isExhaustive ? clients : clients.slice(0, 1))('conforms through %s', (name, connect) => {
    const cases = journalConformance(async (storage) => {
      const { client, close } = await connect();
      return { store: openRedisStore(client, `{${name}}:${storage}:`), close };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  test.each(clients)('takes every step through %s', async (name, connect) => {
    const { client, close } = await connect();
    onTestFinished(async () => void (await close()));
    const store = openRedisStore(client, `{${name} shop}:`);
    await store.write('key 17', changeWith({ attentionAt: 1, dueAt: 1 }));
    await store.write('key 18', changeWith({ createdAt: 2 }));
    expect((await store.read('key 17')).record).toEqual({ version: 'v1', text: '{}' });
    expect(await store.list?.(listAll)).toMatchObject([{ key: 'key 17' }, { key: 'key 18' }]);
    expect(await store.list?.(listAttention)).toMatchObject([{ key: 'key 17' }]);
    expect(await store.count?.()).toEqual({ records: 2, attention: 1 });
    expect((await store.claimDue?.(claimKeys))?.records).toMatchObject([{ key: 'key 17' }]);
    expect(await store.countDue?.({ kind: 'key' })).toEqual({ due: 0, nextIn: expect.any(Number) });
    const unneeded = ['key 17', 'key 18'].map((key) => ({ key, version: 'v1' }));
    expect(await store.delete?.(unneeded)).toBe(2);
    expect(await readRedisWarnings(toCommand(client))).toEqual([]);
  });

  test.each(clients)('refuses a prefix without a hash tag through %s', async (_name, connect) => {
    const { client, close } = await connect();
    onTestFinished(async () => void (await close()));
    const store = openRedisStore(client, 'shop:');
    for (const refusal of [
      await catchError(store.read('order 17')),
      await catchError(store.write('order 17', change)),
    ]) {
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
      expect(refusal).toHaveProperty('message', expect.stringContaining('"{payments}:journal:"'));
      expect(String(Object(refusal).message).length).toBeLessThanOrEqual(200);
    }
  });
});
