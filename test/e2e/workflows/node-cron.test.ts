import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { describeFollowUps } from './follow-up-scenarios.ts';
import { NodeCronProcesses, nodeCron } from './node-cron-example.ts';
import { until } from './shop.ts';

describeFollowUps(nodeCron);

describe('the cron process', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  test('sweeps by its schedule, also after a kill, and ends when asked to', async () => {
    await using sandbox = await startSandbox();
    const polling = { initialDelay: 500, minDelay: 500, maxDelay: 500, timeout: 600_000 };
    const shop = await NodeCronProcesses.start({
      DATABASE_URL: server.url,
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '1000',
      CHECK_SCHEDULE: JSON.stringify({ beforeDeadline: polling }),
    });
    onTestFinished(() => shop.stop());
    const [first, second] = [await shop.place(), await shop.place()];
    await shop.pay(first);
    await shop.pay(second);
    sandbox.approve(sandbox.charges[0]?.reference ?? '');
    const killed = await shop.startCron();
    await until(async () => (await shop.stateOf(first)) === 'fulfilled', 'the first order');
    await killed.kill();
    sandbox.approve(sandbox.charges[1]?.reference ?? '');
    const cron = await shop.startCron();
    await until(async () => (await shop.stateOf(second)) === 'fulfilled', 'the second order');
    expect(await cron.kill('SIGTERM')).toBe(0);
  });
});
