import { afterEach, describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import type { WorkflowExample } from './example.ts';
import { newOrder, Shop, until } from './shop.ts';

/** The database of a queue, read without the queue. */
export interface QueueDatabase {
  /** Removes every job and the scheduler. */
  removeJobs(): Promise<unknown>;
  /** Returns every key and value, or every row. */
  dump(): Promise<string>;
}

/** Opens a shop with a worker, for a test that ends with an order that is fulfilled. */
export function useQueueShop(example: WorkflowExample) {
  let shop: Shop;
  afterEach(() => shop.close());
  return {
    async open(): Promise<Shop> {
      shop = await Shop.open(example);
      await shop.startWorker();
      return shop;
    },
    async fulfil(id: string): Promise<void> {
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    },
  };
}

/** Defines the tests of an example whose sweeps are jobs of a queue. */
export function describeQueue(example: WorkflowExample, database: QueueDatabase): void {
  describe(`${example.name} alone`, () => {
    const { open, fulfil } = useQueueShop(example);

    test('continues at another process after one is killed', async () => {
      const shop = await open();
      await shop.startAnotherWorker({ SHOP_URL: `http://127.0.0.1:${await findFreePort()}` });
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await fulfil(id);
    });

    test('goes on after a sweep that failed, which its job shows', async () => {
      const shop = await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
      const id = await shop.place();
      await until(async () => (await database.dump()).includes('AuthenticationError'), 'the error');
      await fulfil(id);
    });

    test('continues an order whose jobs were lost', async () => {
      const shop = await open();
      const id = await shop.place();
      await shop.reaches(id, 'waiting');
      await shop.killWorker();
      await database.removeJobs();
      await shop.startWorker();
      await fulfil(id);
    });

    test('keeps phone, email and API key out of the database', async () => {
      const shop = await open();
      const order = newOrder();
      shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 1 });
      shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
      await shop.place(order);
      await until(() => shop.verifies() >= 3, 'a check after two that fail');
      const dump = await database.dump();
      expect(dump).toContain(order.id);
      for (const secret of [order.phone, order.phone.slice(1), order.customer_email, shop.sandbox.liveKey])
        expect(dump).not.toContain(secret);
    });
  });
}
