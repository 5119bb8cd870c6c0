import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunningEngine, WorkflowExample } from './example.ts';
import { describeInterruptions } from './interruptions.ts';
import { describeWorkflow } from './scenarios.ts';
import { quickLooks, Shop, slowLooks, until } from './shop.ts';

/** BullMQ's database, to look into past BullMQ. */
export interface RunningBullMQ extends RunningEngine {
  job(id: string): Promise<{ state: string; attemptsMade: number }>;
  /** As `removeOnComplete` does when its time has come. */
  removeJob(id: string): Promise<void>;
  /** Every key and value, or every row. */
  everything(): Promise<string>;
}

const lockDuration = 2_000;
const stalledInterval = 1_000;

/** The scenarios of every engine, and BullMQ's own traps. */
export function describeBullMQ(name: string, start: () => Promise<RunningBullMQ>): void {
  let engine: RunningBullMQ;
  const example: WorkflowExample = {
    name,
    folder: 'bullmq',
    takesOverAfter: lockDuration + 2 * stalledInterval,
    async start() {
      engine = await start();
      // A dead worker's job is taken over sooner than in a shop.
      const env = { LOCK_DURATION: String(lockDuration), STALLED_INTERVAL: String(stalledInterval) };
      return { ...engine, env: { ...engine.env, ...env } };
    },
  };
  describeWorkflow(example);
  describeInterruptions(example);

  describe(`the traps of ${name}`, () => {
    let shop: Shop;
    const open = async (looks: object = quickLooks) => {
      shop = await Shop.open(example, looks);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    const jobIs = (id: string, state: string) =>
      until(async () => (await engine.job(id)).state === state, `the job of ${id} to be ${state}`);

    test('waiting uses up no attempt', async () => {
      await open();
      const id = await shop.place();
      await until(() => shop.verifies() >= 3, 'three looks');
      expect((await engine.job(id)).attemptsMade).toBe(0);
    });

    test('what is left to a person shows as a failed job', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 401 });
      const id = await shop.place();
      await shop.reaches(id, 'parked');
      await jobIs(id, 'failed');
      expect(shop.verifies()).toBe(1);
    });

    test('an order that is placed again once its job was removed is neither charged nor fulfilled again', async () => {
      await open();
      const id = await shop.place({ id: 'order-again' });
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      await jobIs(id, 'completed');
      await engine.removeJob(id);
      await shop.place({ id: 'order-again' });
      // First come, first served: the order that comes after it is charged after it.
      await shop.reaches(await shop.place(), 'waiting');
      expect(shop.sandbox.charges).toHaveLength(2);
      expect(shop.orders.parcels(id)).toBe(1);
    });

    test('an order whose job was lost is taken up by the next worker', async () => {
      await open(slowLooks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await engine.removeJob(id);
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('an order that was released, and whose job was lost, is still looked at', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'released');
      await shop.killWorker();
      await engine.removeJob(id);
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'paid_late');
    });

    test('a hint that comes during a look leads to another one', async () => {
      await open(slowLooks);
      // The answer is `pending`, and takes its time.
      shop.sandbox.fault('verify', { kind: 'slowBody', interval: 7 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      // It counts, even where it comes before the worker has begun to wait.
      await shop.hint(reference);
      await until(() => shop.verifies() === 1, 'a look');
      shop.sandbox.approve(reference);
      await shop.hint(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.verifies()).toBe(2);
    });

    test('hints lead to one look a second at most', async () => {
      await open(slowLooks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await shop.hint(reference);
      await until(() => shop.verifies() >= 1, 'a look');
      const since = Date.now();
      await hintOften(engine.env, id);
      expect(shop.verifies()).toBeLessThanOrEqual(3 + (Date.now() - since) / 1_000);
    });

    test('a pause that the service asks for is kept, and the charge then made', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 5_000 }, { times: 1 });
      const id = await shop.place();
      await until(() => shop.sandbox.requests.length === 1, 'the charge that is not taken');
      const refused = Date.now();
      await shop.reaches(id, 'waiting');
      expect(Date.now() - refused).toBeGreaterThan(3_000);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('the database holds nothing of a customer, and no key', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 403 });
      const id = await shop.place();
      const { phone, customer_email } = await shop.reaches(id, 'parked');
      await jobIs(id, 'failed');
      const everything = await engine.everything();
      expect(everything).toContain(id);
      for (const secret of [phone, phone.slice(1), customer_email, shop.sandbox.liveKey])
        expect(everything).not.toContain(secret);
    });
  });
}

/** Thirty hints from one process: a process for each would take so long that they hardly count as many. */
async function hintOften(env: NodeJS.ProcessEnv, id: string): Promise<void> {
  const program = `
    import { engine } from './engine.ts';
    import { hint } from './hints.ts';
    const queue = engine.queue();
    for (let hints = 0; hints < 30; hints++) {
      await hint(queue, ${JSON.stringify(id)});
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
