import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { WorkflowExample } from './example.ts';
import { fastDeadline, Shop, slowChecks, until } from './shop.ts';

/** Defines the tests that every order workflow passes, on every engine. */
export function describeWorkflow(example: WorkflowExample): void {
  describe(example.name, () => {
    let shop: Shop;
    const open = async (schedule?: object) => {
      shop = await Shop.open(example, schedule);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    const expectOneParcel = (id: string) => {
      expect(shop.orders.countParcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    };

    test('charges an order once and fulfils it once it is paid', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 3, 'three checks');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('charges an order once that is placed twice', async () => {
      await open();
      const id = await shop.place({ id: 'order-twice' });
      await shop.place({ id: 'order-twice' });
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('continues a wait after its worker is killed', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 1, 'a check');
      // The worker gets the response, and waits for the next check.
      await sleep(150);
      await shop.killWorker();
      shop.sandbox.approve(reference);
      const checks = shop.verifies();
      await shop.startWorker();
      await until(() => shop.verifies() > checks, 'a check of the next worker');
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('continues after its worker is killed during a check', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'hang' });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() === 1, 'the check that hangs');
      await shop.killWorker();
      shop.sandbox.approve(reference);
      await shop.startWorker();
      await until(() => shop.verifies() > 1, 'a check of the next worker');
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('continues after three workers are killed during a check', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'hang' }, { times: 3 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      for (const crashes of [1, 2, 3]) {
        await until(() => shop.verifies() >= crashes, `checkPayment ${crashes}`);
        await shop.killWorker();
        await shop.startWorker();
        await shop.notify(reference);
      }
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('never charges again after its worker is killed during the charge', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      await shop.killWorker();
      await shop.startWorker();
      await shop.reaches(id, 'in_review');
      expect(shop.sandbox.charges).toHaveLength(1);
      expect(shop.orders.countParcels(id)).toBe(0);
    });

    test('never charges again after a lost response', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
      const id = await shop.place();
      await shop.reaches(id, 'in_review');
      expect(shop.sandbox.charges).toHaveLength(1);
      expect(shop.sandbox.requests).toHaveLength(1);
    });

    test('ends the order after a rejected charge', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 }, { times: 5 });
      await shop.place();
      await until(() => shop.sandbox.requests.length > 0, 'the rejection');
      expect(shop.sandbox.requests).toHaveLength(1);
    });

    test('checks again after a temporary error', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 2 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 2, 'two checks that fail');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      expectOneParcel(id);
    });

    test('holds the order for review after another amount was paid', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, { times: 100 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'in_review');
      expect(shop.orders.countParcels(id)).toBe(0);
    });

    test('checks at once after a notification', async () => {
      await open(slowChecks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      // It might come before the worker waits: services send a webhook more than once.
      await until(async () => {
        await shop.notify(reference);
        return (await shop.order(id)).state === 'fulfilled';
      }, 'the notification to count');
      expectOneParcel(id);
    });

    test('changes nothing after a false notification', async () => {
      await open(slowChecks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(async () => {
        await shop.notify(reference);
        return shop.verifies() >= 1;
      }, 'the notification to be checked');
      await shop.notify('TXN-UNKNOWN');
      expect((await shop.order(id)).state).toBe('waiting');
      expect(shop.orders.countParcels(id)).toBe(0);
    });

    test('holds a payment for review that comes after the release', async () => {
      await open(fastDeadline);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'released');
      shop.sandbox.approve(reference);
      // Without it, the next check comes after half a minute.
      await shop.notify(reference);
      await shop.reaches(id, 'paid_late');
      expect(shop.orders.countParcels(id)).toBe(0);
      expect(shop.sandbox.charges).toHaveLength(1);
    });
  });
}
