import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import type { JournalOptions } from '../../../src/journal/index.ts';
import { type RedisJournalOptions, redisJournal } from '../../../src/journal/redis.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';

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

interface Opened {
  journal: ReturnType<typeof redisJournal>;
  close(): unknown;
}

function openIoRedis(options: RedisJournalOptions): Opened {
  const client = new Cluster([{ port: server.port, host: '127.0.0.1' }]);
  return { journal: redisJournal(client, options), close: () => client.disconnect() };
}

async function openNodeRedis(options: RedisJournalOptions): Promise<Opened> {
  const client = createCluster({ rootNodes: [{ url: server.url }] });
  client.on('error', () => {});
  await client.connect();
  return { journal: redisJournal(client, options), close: () => client.destroy() };
}

const clients = [
  ['ioredis', openIoRedis],
  ['redis', openNodeRedis],
] as const;

describe.skipIf(!hasRedis)('a journal in a Redis Cluster', () => {
  describe.each(isExhaustive ? clients : clients.slice(0, 1))('conforms through %s', (name, open) => {
    const cases = journalConformance((options: JournalOptions, storage) =>
      open({ ...options, prefix: `{${name}}:${storage}:` }),
    );
    test.each(cases)('$name', ({ run }) => run());
  });

  test.each(clients)('charges, lists and follows up through %s', async (name, open) => {
    const { journal, close } = await open({ prefix: `{${name} shop}:`, lease: 100 });
    onTestFinished(async () => void (await close()));
    await completeKey(journal, 'order-17', {
      state: 'unknown',
      reference: 'TXN-17',
    });
    await completeKey(journal, 'order-18', { state: 'not_sent' });
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-17']);
    expect(await journal.count()).toMatchObject({ unknown: 1, not_sent: 1 });
    expect(await claimDueKeys(journal)).toEqual(['order-17']);
    expect(await countDue(journal)).toMatchObject({
      due: 0,
      nextIn: expect.any(Number),
    });
    expect(await getJournalCore(journal).warnings?.()).toEqual([]);
  });

  test.each(clients)('refuses a prefix without a hash tag through %s', async (_name, open) => {
    const { journal, close } = await open({ prefix: 'shop:' });
    onTestFinished(async () => void (await close()));
    const refusals = [
      await catchError(tryClaim(journal, 'order-17')),
      await catchError(tryClaim(journal, 'order-17')),
    ];
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
      expect(refusal).toHaveProperty('message', expect.stringContaining('"{payments}:journal:"'));
      expect(String(Object(refusal).message).length).toBeLessThanOrEqual(200);
    }
  });
});
