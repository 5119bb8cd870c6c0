import { afterEach, describe, expect, test } from 'vitest';
import type { WorkflowExample } from './example.ts';
import { note } from './measured.ts';
import { Shop, slowLooks, until } from './shop.ts';

/** What every order workflow has to keep, whatever runs it. */
export function describeWorkflow(example: WorkflowExample): void {
  describe(example.name, () => {
    let shop: Shop;
    const open = async (looks?: object) => {
      shop = await Shop.open(example, looks);
      await shop.startWorker();
    };
    afterEach(() => shop.close());

    const oneParcel = (id: string) => {
      expect(shop.orders.parcels(id)).toBe(1);
      expect(shop.sandbox.charges).toHaveLength(1);
    };

    test('an order is charged once and fulfilled once it is paid', async () => {
      await open();
      const before = await shop.rows();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 3, 'three looks');
      const perLook = ((await shop.rows()) - before) / shop.verifies();
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
      note(example.name, { requests: shop.verifies(), rowsPerLook: perLook });
    });

    test('a declined payment releases the order', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.decline(reference);
      await shop.reaches(id, 'released');
      expect(shop.orders.parcels(id)).toBe(0);
      expect(shop.sandbox.charges).toHaveLength(1);
    });

    test('an order that is placed twice is charged once', async () => {
      await open();
      const id = await shop.place({ id: 'order-twice' });
      await shop.place({ id: 'order-twice' });
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
    });

    test('a worker that is killed while waiting is carried on by the next one', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 1, 'a look');
      await shop.killWorker();
      shop.sandbox.approve(reference);
      const looks = shop.verifies();
      const restarted = Date.now();
      await shop.startWorker();
      await until(() => shop.verifies() > looks, 'a look of the next worker');
      note(example.name, { goesOnAfterKillWaiting: Date.now() - restarted });
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
    });

    test('a worker that is killed during a check is carried on by the next one', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'hang' });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() === 1, 'the look that hangs');
      await shop.killWorker();
      shop.sandbox.approve(reference);
      const restarted = Date.now();
      await shop.startWorker();
      await until(() => shop.verifies() > 1, 'a look of the next worker');
      note(example.name, { goesOnAfterKillInCheck: Date.now() - restarted });
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
    });

    test('workers that are killed three times in a row during a check do not lose the order', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'hang' }, { times: 3 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      for (const crashes of [1, 2, 3]) {
        await until(() => shop.verifies() >= crashes, `look ${crashes}`);
        await shop.killWorker();
        await shop.startWorker();
      }
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
    });

    test('a worker that is killed while it charges leaves the order to a person, and nobody is charged again', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
      const id = await shop.place();
      await until(() => shop.sandbox.charges.length === 1, 'the charge');
      await shop.killWorker();
      await shop.startWorker();
      await shop.reaches(id, 'parked');
      expect(shop.sandbox.charges).toHaveLength(1);
      expect(shop.orders.parcels(id)).toBe(0);
    });

    test('a charge whose answer is lost leaves the order to a person, and nobody is charged again', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
      const id = await shop.place();
      await shop.reaches(id, 'parked');
      expect(shop.sandbox.charges).toHaveLength(1);
      expect(shop.sandbox.requests).toHaveLength(1);
    });

    test('a charge that is refused ends the order, and is not tried again', async () => {
      await open();
      shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 }, { times: 5 });
      const id = await shop.place();
      await shop.reaches(id, 'refused');
      expect(shop.sandbox.requests).toHaveLength(1);
    });

    test('a look that fails for a passing reason is made again', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 2 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(() => shop.verifies() >= 2, 'two looks that fail');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'fulfilled');
      oneParcel(id);
    });

    test('a look that fails for good leaves the order to a person', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'status', status: 403 }, { times: 5 });
      const id = await shop.place();
      await shop.reaches(id, 'parked');
      expect(shop.verifies()).toBe(1);
    });

    test('a payment of another amount leaves the order to a person', async () => {
      await open();
      shop.sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, { times: 100 });
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'parked');
      expect(shop.orders.parcels(id)).toBe(0);
    });

    test('a hint of a webhook brings the look forward', async () => {
      await open(slowLooks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      shop.sandbox.approve(reference);
      // It may come before the worker has begun to wait: services send it more than once.
      await until(async () => {
        await shop.hint(reference);
        return shop.order(id).state === 'fulfilled';
      }, 'the hint to count');
      oneParcel(id);
    });

    test('a hint that is not true changes nothing', async () => {
      await open(slowLooks);
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'waiting');
      await until(async () => {
        await shop.hint(reference);
        return shop.verifies() >= 1;
      }, 'the hint to be looked into');
      await shop.hint('TXN-NOBODYS');
      expect(shop.order(id).state).toBe('waiting');
      expect(shop.orders.parcels(id)).toBe(0);
    });

    test('a payment that comes after the order was released is seen, and left to a person', async () => {
      await open();
      const id = await shop.place();
      const { reference } = await shop.reaches(id, 'released');
      shop.sandbox.approve(reference);
      await shop.reaches(id, 'paid_late');
      expect(shop.orders.parcels(id)).toBe(0);
      expect(shop.sandbox.charges).toHaveLength(1);
    });
  });
}
