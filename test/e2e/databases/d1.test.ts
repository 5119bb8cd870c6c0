import { Miniflare } from 'miniflare';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fromD1, sqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { startCountingService } from './counting-service.ts';
import { postOrder, startDocumentedWorker } from './documented-worker.ts';
import { describeInsideWorkerd } from './inside-workerd.ts';
import { database } from './kinds/d1.ts';
import { chargeOrder, createClient } from './shop.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('d1', database);

describe('env.DB inside a Worker', () => describeInsideWorkerd('d1'));

test('charges once in the Worker of the page, and follows the payment up', async () => {
  const { worker, sandbox } = await startDocumentedWorker('Cloudflare D1');
  const first = await postOrder(worker.url);
  const [charge] = sandbox.charges;
  expect(first).toEqual({ status: 200, body: { state: 'processing' } });
  expect(await postOrder(worker.url)).toEqual(first);
  expect(sandbox.charges).toHaveLength(1);
  sandbox.approve(charge?.reference ?? '');
  // A press checks a payment that is older than a second.
  const countChecks = () => sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  const before = countChecks();
  const sweep = async () => {
    await fetch(`${worker.url}/cdn-cgi/handler/scheduled`);
    return countChecks();
  };
  await expect.poll(sweep, { interval: 500 }).toBeGreaterThan(before);
  expect(await postOrder(worker.url)).toEqual({ status: 200, body: { state: 'paid' } });
});

/** As `getPlatformProxy` of wrangler gives it to the server of a framework in development. */
test('charges once with the proxy of env.DB that Miniflare gives Node', async () => {
  const service = await startCountingService();
  const miniflare = new Miniflare({
    modules: true,
    script: 'export default { fetch() { return new Response() } }',
    cf: false,
    telemetry: { enabled: false },
    compatibilityDate: '2026-01-01',
    d1Databases: ['DB'],
  });
  onTestFinished(async () => {
    await miniflare.dispose();
    await service.stop();
  });
  const env = await miniflare.getBindings<{ DB: Awaited<ReturnType<Miniflare['getD1Database']>> }>();
  const payments = createClient({
    baseUrl: service.baseUrl,
    journal: sqliteJournal(fromD1(env.DB), { lease: 120_000 }),
  });
  const references = [await chargeOrder(payments, 'order-1'), await chargeOrder(payments, 'order-1')];
  expect(service.chargesFor('order-1')).toEqual([references[0]]);
  expect(references[1]).toBe(references[0]);
  // @ts-expect-error A session is refused as early as its type is known.
  expect(() => fromD1(env.DB.withSession('first-primary'))).toThrow('the D1 database itself');
});
