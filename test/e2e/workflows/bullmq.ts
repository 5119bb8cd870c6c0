import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunningEngine, WorkflowExample } from './example.ts';
import { describeInterruptions } from './interruptions.ts';
import { describeWorkflow } from './scenarios.ts';
import { fastChecks, fastDeadline, patient, Shop, slowChecks, until } from './shop.ts';

/** BullMQ's database, read without BullMQ. */
export interface RunningBullMQ extends RunningEngine {
  job(id: string): Promise<{ state: string; attemptsMade: number }>;
  /** Removes a job, as `removeOnComplete` does later. */
  removeJob(id: string): Promise<void>;
  /** Returns every key and value, or every row. */
  dump(): Promise<string>;
}

const lockDuration = 2_000;
const stalledInterval = 1_000;

/** Defines the scenarios of every engine, and those of BullMQ alone. */
export function describeBullMQ(name: string, start: () => Promise<RunningBullMQ>): void {
  let engine: RunningBullMQ;
  const example: WorkflowExample = {
    name,
    folder: 'bullmq',
    async start() {
      engine = await start();
      // Shorter than in a shop, so that the job of a killed worker continues soon.
      const env = { LOCK_DURATION: String(lockDuration), STALLED_INTERVAL: String(stalledInterval) };
      return { ...engine, env: { ...engine.env, ...env } };
    },
  };
  describeWorkflow(example);
  describeInterruptions(example);

  describe(`${name} alone`, () => {
    let shop: Shop;
    const open = async (schedule: object = fastChecks, env?: NodeJS.ProcessEnv) => {
      shop = await Shop.open(example, schedule, env);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    const jobReaches = (id: string, state: string) =>
      until(async () => (await engine.job(id)).state === state, `the job of ${id} to be ${state}`);

    test('uses no attempt while it waits', async () => {
      await open();
      const id = await shop.place();
      await until(() => shop.verifies() >= 3, 'three checks');
      expect((await engine.job(id)).attemptsMade).toBe(0);
    });

    test('shows an order in review as a failed job', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 401 });
      const id = await shop.place();
      await shop.reaches(id, 'in_review');
      await jobReaches(id, 'failed');
      expect(shop.verifies()).toBe(1);
    });

    test('never charges an order again after its job was removed', async () => {
      await open();
      const id = await shop.place({ id: 'order-again' });
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      await jobReaches(id, 'completed');
      await engine.removeJob(id);
      await shop.place({ id: 'order-again' });
      // Jobs run in order: once the next order is charged, this one has run again.
      await shop.reaches(await shop.place(), 'waiting');
      expect(shop.sandbox.charges).toHaveLength(2);
      expect(shop.orders.countParcels(id)).toBe(1);
    });

    test('continues an order whose job was lost', async () => {
      await open(slowChecks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await engine.removeJob(id);
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('checks a released order whose job was lost', async () => {
      await open(fastDeadline);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'released');
      await shop.killWorker();
      await engine.removeJob(id);
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'paid_late');
    });

    test('checks again after a notification during a check', async () => {
      await open(slowChecks, patient);
      // The response is `pending`, and comes slowly.
      shop.sandbox.fault('verify', { kind: 'slowBody', interval: 7 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      // It counts even if it comes before the worker waits.
      await shop.notify(reference);
      await until(() => shop.verifies() === 1, 'a check');
      shop.sandbox.approve(reference);
      await shop.notify(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.verifies()).toBe(2);
    });

    test('checks at most once a second, however often it is notified', async () => {
      await open(slowChecks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await shop.notify(reference);
      await until(() => shop.verifies() >= 1, 'a check');
      const startedAt = Date.now();
      await sendManyNotifications(engine.env, id);
      expect(shop.verifies()).toBeLessThanOrEqual(3 + (Date.now() - startedAt) / 1_000);
    });

    test('charges after the Retry-After of a 429', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 5_000 }, { times: 1 });
      const placedAt = Date.now();
      const id = await shop.place();
      const { charged_at } = await shop.reaches(id, 'waiting');
      expect((charged_at ?? 0) - placedAt).toBeGreaterThan(3_000);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('keeps phone, email and API key out of the database', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 403 });
      const id = await shop.place();
      const { phone, customer_email } = await shop.reaches(id, 'in_review');
      await jobReaches(id, 'failed');
      const dump = await engine.dump();
      expect(dump).toContain(id);
      for (const secret of [phone, phone.slice(1), customer_email, shop.sandbox.liveKey])
        expect(dump).not.toContain(secret);
    });
  });
}

/** Sends 30 notifications from one process. A process for each would take too long for the test. */
async function sendManyNotifications(env: NodeJS.ProcessEnv, id: string): Promise<void> {
  const program = `
    import { engine } from './engine.ts';
    import { notify } from './notifications.ts';
    const queue = engine.queue();
    for (let notifications = 0; notifications < 30; notifications++) {
      await notify(queue, ${JSON.stringify(id)});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await queue.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: 'examples/workflows/bullmq',
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
}
