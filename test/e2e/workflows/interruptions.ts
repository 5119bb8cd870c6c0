import { afterEach, describe, expect, test } from 'vitest';
import type { WorkflowExample } from './example.ts';
import { fastChecks, fastDeadline, patient, Shop, until } from './shop.ts';

/** Defines the tests of an order workflow without a worker, a submitted job or the service for some time. */
export function describeInterruptions(example: WorkflowExample): void {
  describe(`${example.name}, interrupted`, () => {
    let shop: Shop;
    const open = async (schedule: object = fastChecks, env?: NodeJS.ProcessEnv) => {
      shop = await Shop.open(example, schedule, env);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    test('retries a charge under the same key after 429', async () => {
      await open();
      // The client itself makes three attempts.
      shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 4 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting', 'rejected', 'in_review');
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('charges once the service is back', async () => {
      await open();
      const { startService } = await shop.stopService();
      const id = await shop.place();
      // A refused connection leaves no trace, so give it time for some.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect((await shop.order(id)).state).toBe('placed');
      await startService();
      const { reference } = await shop.reaches(id, 'waiting', 'rejected', 'in_review');
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('checks again after an early 404', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 404 });
      const id = await shop.place();
      await until(() => shop.verifies() >= 1, 'the check that is too early');
      const { reference } = await shop.reaches(id, 'waiting', 'in_review');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled', 'in_review');
      expect((await shop.order(id)).state).toBe('fulfilled');
    });

    test('fulfils a payment that came while no worker was up', async () => {
      await open(fastDeadline);
      let order = await shop.reaches(await shop.place(), 'waiting', 'released');
      await shop.killWorker();
      // A machine that is very busy might have let the deadline pass.
      while ((await shop.order(order.id)).state !== 'waiting') {
        await shop.startWorker();
        order = await shop.reaches(await shop.place(), 'waiting', 'released');
        await shop.killWorker();
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

    test('continues a waiting order after its worker is asked to end', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      expect(await shop.stopWorker()).toBe(0);
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await shop.reaches(id, 'fulfilled');
      expect(shop.orders.countParcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('lets a running charge end when its worker is asked to end', async () => {
      await open(fastChecks, patient);
      // The response is slow: the charge is running when the worker is asked to end.
      shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 5 });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      expect(await shop.stopWorker()).toBe(0);
      await shop.startWorker();
      const { reference } = await shop.reaches(id, 'waiting', 'in_review');
      expect((await shop.order(id)).state).toBe('waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expect(shop.sandbox.charges).toHaveLength(1);
    });
  });
}
