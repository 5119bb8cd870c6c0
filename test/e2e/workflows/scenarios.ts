import { afterEach, describe, expect, test } from 'vitest';
import {
  fastDeadline,
  newOrder,
  type RunningEngine,
  Shop,
  slowChecks,
  until,
  type WorkflowExample,
} from './shop.ts';

/** Opens a shop for each test. */
function useShop(example: WorkflowExample) {
  let shop: Shop;
  afterEach(() => shop.close());
  return {
    async open(schedule?: object, env?: NodeJS.ProcessEnv): Promise<Shop> {
      shop = await Shop.open(example, schedule, env);
      return shop;
    },
    /** The customer approves the prompt: the order is charged once, and ships once. */
    async fulfil(id: string): Promise<void> {
      const { reference } = await shop.reaches(id, 'waiting', 'in_review');
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    },
  };
}

/** Defines the tests that every order workflow passes, on every engine. */
export function describeWorkflow(example: WorkflowExample): void {
  describe(example.name, () => {
    const { open, fulfil } = useShop(example);

    test('charges an order once that is placed twice, and ships it once paid', async () => {
      const shop = await open();
      const order = newOrder();
      const id = await shop.place(order);
      await shop.place(order);
      await until(() => shop.verifies() >= 3, 'three checks');
      await fulfil(id);
    });

    test('continues after three workers are killed during a check', async () => {
      // Nobody else checks a payment for this time and 10 s after a kill.
      const shop = await open(undefined, { PAYMENTS_TIMEOUT: '8000' });
      shop.sandbox.fault('verify', { kind: 'hang' }, { times: 3 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      for (const crashes of [1, 2, 3]) {
        await until(() => shop.verifies() >= crashes, `check ${crashes}`);
        await shop.endWorker();
        await shop.startWorker();
        await shop.notify(reference);
      }
      await fulfil(id);
    });

    test('never charges again after its worker is killed during the charge', async () => {
      const shop = await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      await shop.endWorker();
      await shop.startWorker();
      await shop.reaches(id, 'in_review');
      expect(shop.sandbox.charges).toHaveLength(1);
      expect(shop.orders.countParcels(id)).toBe(0);
    });

    test('checks at once after a notification, which it does not trust', async () => {
      const shop = await open(slowChecks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      // It might come before the worker waits: services send a webhook more than once.
      const notifyUntil = (isDone: () => boolean | Promise<boolean>) =>
        until(async () => {
          await shop.notify(reference);
          return await isDone();
        }, 'the notification to count');
      await notifyUntil(() => shop.verifies() >= 1);
      await shop.notify('TXN-UNKNOWN');
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await notifyUntil(async () => (await shop.order(id)).state === 'fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
    });

    test('holds a payment for review that comes after the release', async () => {
      const shop = await open(fastDeadline);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'released');
      shop.sandbox.approve(reference);
      // Without it, the next check comes after half a minute.
      await shop.notify(reference);
      await shop.reaches(id, 'paid_late');
      expect(shop.orders.countParcels(id)).toBe(0);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('fulfils a payment that came while no worker was up', async () => {
      const shop = await open(fastDeadline);
      let order = await shop.reaches(await shop.place(), 'waiting', 'released');
      await shop.endWorker();
      // A machine that is very busy might have let the deadline pass.
      while ((await shop.order(order.id)).state !== 'waiting') {
        await shop.startWorker();
        order = await shop.reaches(await shop.place(), 'waiting', 'released');
        await shop.endWorker();
      }
      const { id, reference, charged_at } = order;
      shop.sandbox.approve(reference);
      const deadline = (charged_at ?? 0) + fastDeadline.beforeDeadline.timeout;
      await until(() => Date.now() > deadline, 'the deadline');
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled', 'released', 'paid_late');
      expect((await shop.order(id)).state).toBe('fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
    });

    test('lets a running charge end when its worker is asked to end', async () => {
      // The response is slow: the charge is running when the worker is asked to end.
      const shop = await open(undefined, { PAYMENTS_TIMEOUT: '60000' });
      shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 5 });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      expect(await shop.endWorker('SIGTERM')).toBe(0);
      await shop.startWorker();
      await fulfil(id);
    });
  });
}

/** A queue, whose database is read and written without it. */
export interface RunningQueue extends RunningEngine {
  /** Removes every job and the scheduler. */
  removeJobs(): Promise<unknown>;
  /** Returns every key and value, or every row. */
  dump(): Promise<string>;
  /** Breaks the connections of the workers, if the database can. */
  disconnect?(): Promise<unknown>;
}

/** Defines the tests of an example whose sweeps are jobs of a queue, beside those of every order workflow. */
export function describeQueue(name: string, folder: string, start: () => Promise<RunningQueue>): void {
  let queue: RunningQueue;
  const example: WorkflowExample = {
    name,
    folder,
    async start() {
      queue = await start();
      return { ...queue, env: { ...queue.env, SWEEP_INTERVAL: '200' } };
    },
  };
  describeWorkflow(example);

  describe(`${name} alone`, () => {
    const { open, fulfil } = useShop(example);

    test('continues at another process after one is killed', async () => {
      const shop = await open();
      await shop.startAnotherWorker();
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.endWorker();
      await fulfil(id);
    });

    test('continues an order whose jobs were lost', async () => {
      const shop = await open();
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.endWorker();
      await queue.removeJobs();
      await shop.startWorker();
      await fulfil(id);
    });

    test('continues an order after its connections to the database break', async () => {
      const shop = await open();
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await queue.disconnect?.();
      const checks = shop.verifies();
      await until(() => shop.verifies() > checks, 'a check after that');
      await fulfil(id);
    });

    test('goes on after sweeps that fail, and keeps secrets out of the database', async () => {
      const shop = await open();
      const order = newOrder();
      shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 1 });
      shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
      const id = await shop.place(order);
      await until(async () => (await queue.dump()).includes('AuthenticationError'), 'the error');
      const dump = await queue.dump();
      expect(dump).toContain(order.id);
      for (const secret of [order.phone, order.phone.slice(1), order.customer_email, shop.sandbox.liveKey])
        expect(dump).not.toContain(secret);
      await fulfil(id);
    });
  });
}
