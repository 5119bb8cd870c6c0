import { afterEach, describe, expect, test } from 'vitest';
import type { WorkflowExample } from './example.ts';
import { newOrder, quickLooks, Shop, until } from './shop.ts';

/** What an order workflow has to keep where somebody is late or gone: a worker, a hand-over, the service. */
export function describeInterruptions(example: WorkflowExample): void {
  describe(`${example.name}, interrupted`, () => {
    let shop: Shop;
    const open = async () => {
      shop = await Shop.open(example);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    test('an order that was written down and never handed over is taken up by the next worker', async () => {
      shop = await Shop.open(example);
      const { id } = newOrder();
      shop.orders.place(newOrder({ id }));
      await shop.startWorker();
      await shop.reaches(id, 'waiting');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('a charge that the service puts off is made again, under the same key', async () => {
      await open();
      // The client itself tries three times.
      shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 4 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting', 'refused', 'parked');
      expect(shop.order(id).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('a charge that finds no service is made once there is one again', async () => {
      await open();
      const { serviceBack } = await shop.serviceGone();
      const id = await shop.place();
      // Nobody sees a connection that is refused: time for some.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(shop.order(id).state).toBe('placed');
      await serviceBack();
      const { reference } = await shop.reaches(id, 'waiting', 'refused', 'parked');
      expect(shop.order(id).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('a payment that the service does not know yet is looked at again', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 404 });
      const id = await shop.place();
      await until(() => shop.verifies() >= 1, 'the look that is too early');
      const { reference } = await shop.reaches(id, 'waiting', 'parked');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled', 'parked');
      expect(shop.order(id).state).toBe('fulfilled');
    });

    test('a payment that came while no worker was up is fulfilled, also after its deadline', async () => {
      await open();
      const id = await shop.place();
      const { reference, charged_at } = await shop.reaches(id, 'waiting');
      await shop.killWorker();
      shop.sandbox.approve(reference);
      const deadline = (charged_at ?? 0) + quickLooks.soon.timeout;
      await until(() => Date.now() > deadline, 'the deadline');
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled', 'released', 'paid_late');
      expect(shop.order(id).state).toBe('fulfilled');
      expect(shop.orders.parcels(id)).toBe(1);
    });

    test('a worker that is asked to end while it waits parks nothing, and the next one carries on', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      expect(await shop.stopWorker()).toBe(0);
      expect(shop.order(id).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled');
      expect(shop.orders.parcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('a worker that is asked to end lets a charge end that is under way', async () => {
      await open();
      // Its bytes come one by one: it is under way when the worker is asked, and answered soon after.
      shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 5 });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      expect(await shop.stopWorker()).toBe(0);
      await shop.startWorker();
      const { reference } = await shop.reaches(id, 'waiting', 'parked');
      expect(shop.order(id).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });
  });
}
