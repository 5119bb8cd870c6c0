import { afterEach, describe, expect, test } from 'vitest';
import { CloudflareShop } from './cloudflare-shop.ts';
import { slowChecks, until } from './shop.ts';

describe('a Worker with a cron trigger on Miniflare', () => {
  let shop: CloudflareShop;
  const open = async (schedule?: object) => {
    shop = await CloudflareShop.open(schedule);
  };
  afterEach(() => shop.close());

  const referenceOf = (charge = 0) => shop.sandbox.charges[charge]?.reference ?? '';
  const countCharges = () => shop.sandbox.requests.filter(({ method }) => method === 'POST').length;
  const expectOneParcel = async (id: string) => {
    expect(await shop.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };
  const placeAndPay = async () => {
    const id = await shop.place();
    expect(await shop.pay(id)).toBe(200);
    expect(await shop.readState(id)).toBe('processing');
    return id;
  };

  test('charges an order once and fulfils it once it is paid', async () => {
    await open();
    const id = await placeAndPay();
    expect(await Promise.all([shop.pay(id), shop.pay(id)])).toEqual([200, 200]);
    await shop.sweep();
    shop.sandbox.approve(referenceOf());
    await shop.sweepUntil(id, 'fulfilled');
    expect(await shop.pay(id)).toBe(200);
    await shop.sweep();
    await expectOneParcel(id);
  });

  test('never charges again after a kill during the charge', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const id = await shop.place();
    const press = shop.pay(id).catch(() => undefined);
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    await shop.kill();
    await press;
    await shop.start();
    await shop.sweepUntil(id, 'in_review');
    expect(await shop.pay(id)).toBe(202);
    expect(countCharges()).toBe(1);
    expect(await shop.countParcels(id)).toBe(0);
  });

  test('checks at once after a notification', async () => {
    await open(slowChecks.beforeDeadline);
    const id = await placeAndPay();
    await shop.notify('TXN-UNKNOWN');
    shop.sandbox.approve(referenceOf());
    await shop.sweep();
    expect(shop.verifies()).toBe(0);
    await shop.notify(referenceOf());
    await until(async () => (await shop.readState(id)) === 'fulfilled', 'the check');
    await expectOneParcel(id);
  });

  test('releases the order at the deadline, and holds a later payment for review', async () => {
    await open({ initialDelay: 200, minDelay: 200, maxDelay: 200, timeout: 2_000 });
    const id = await shop.place();
    expect(await shop.pay(id)).toBe(200);
    await shop.sweepUntil(id, 'released');
    shop.sandbox.approve(referenceOf());
    await shop.notify(referenceOf());
    await shop.sweepUntil(id, 'paid_late');
    expect(await shop.countParcels(id)).toBe(0);
  });
});
