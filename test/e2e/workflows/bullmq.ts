import { afterEach, describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';
import { describeInterruptions } from './interruptions.ts';
import { describeWorkflow } from './scenarios.ts';
import { newOrder, Shop, until } from './shop.ts';

/** BullMQ's database, read without BullMQ. */
export interface RunningBullMQ extends RunningEngine {
  /** Removes every job and the scheduler. */
  removeJobs(): Promise<void>;
  /** Returns every key and value, or every row. */
  dump(): Promise<string>;
}

/** Defines the scenarios of every engine, and those of BullMQ alone. */
export function describeBullMQ(name: string, start: () => Promise<RunningBullMQ>): void {
  let engine: RunningBullMQ;
  const example: WorkflowExample = {
    name,
    folder: 'bullmq',
    async start() {
      engine = await start();
      const env = { SHOP_URL: `http://127.0.0.1:${await findFreePort()}`, SWEEP_INTERVAL: '200' };
      return { ...engine, env: { ...engine.env, ...env } };
    },
  };
  describeWorkflow(example);
  describeInterruptions(example);

  describe(`${name} alone`, () => {
    let shop: Shop;
    const open = async () => {
      shop = await Shop.open(example);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    const fulfil = async (id: string) => {
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    };

    test('continues at another process after one is killed', async () => {
      await open();
      await shop.startAnotherWorker({ SHOP_URL: `http://127.0.0.1:${await findFreePort()}` });
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await fulfil(id);
    });

    test('goes on after a sweep that failed, which its job shows', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
      const id = await shop.place();
      await until(async () => (await engine.dump()).includes('AuthenticationError'), 'the error');
      await fulfil(id);
    });

    test('continues an order whose jobs were lost', async () => {
      await open();
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await engine.removeJobs();
      await shop.startWorker();
      await fulfil(id);
    });

    test('keeps phone, email and API key out of the database', async () => {
      await open();
      const order = newOrder();
      shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 1 });
      shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
      await shop.place(order);
      await until(() => shop.verifies() >= 3, 'a check after two that fail');
      const dump = await engine.dump();
      expect(dump).toContain(order.id);
      for (const secret of [order.phone, order.phone.slice(1), order.customer_email, shop.sandbox.liveKey])
        expect(dump).not.toContain(secret);
    });
  });
}
