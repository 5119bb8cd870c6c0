import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { CloudflareShop, checksEverySecond } from './cloudflare-shop.ts';
import { recordMeasurement } from './measurements.ts';
import { slowChecks, until } from './shop.ts';

const name = 'Cloudflare Workflows on Miniflare';

describe(name, () => {
  let shop: CloudflareShop;
  const open = async (schedule?: object) => {
    shop = await CloudflareShop.open(schedule);
  };
  afterEach(() => shop.close());

  const referenceOf = (charge = 0) => shop.sandbox.charges[charge]?.reference ?? '';
  const expectOneParcel = async (id: string) => {
    expect(await shop.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };
  const waitForChecks = (checks: number) => until(() => shop.verifies() >= checks, `${checks} checks`);

  test('charges an order once and fulfils it once it is paid', async () => {
    await open();
    const id = await shop.place();
    await waitForChecks(3);
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
    recordMeasurement(name, { requests: shop.verifies() });
    await until(async () => (await shop.readStatus(id)) === 'complete', 'the end of the workflow');
    // A second request for the same order, and the next run of the cron.
    await shop.submit(id);
    await shop.runCron();
    await expectOneParcel(id);
  });

  test('continues after a kill while it waits, once it is woken', async () => {
    await open();
    const id = await shop.place();
    await waitForChecks(1);
    // The worker gets the response, and waits for the next check.
    await sleep(150);
    await shop.kill();
    const restarted = Date.now();
    await shop.start();
    await shop.wake(id);
    await waitForChecks(2);
    recordMeasurement(name, { continuesAfterKillInWait: Date.now() - restarted });
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
  });

  test('runs a check again that a kill interrupted', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const id = await shop.place();
    await waitForChecks(1);
    await shop.kill();
    shop.sandbox.approve(referenceOf());
    const restarted = Date.now();
    await shop.start();
    await shop.wake(id);
    await waitForChecks(2);
    recordMeasurement(name, { continuesAfterKillInCheck: Date.now() - restarted });
    await shop.reaches(id, 'fulfilled');
    expect(shop.verifies()).toBe(2);
    await expectOneParcel(id);
  });

  test('never charges again after a kill during the charge', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const id = await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    await shop.kill();
    await shop.start();
    expect(await shop.readState(id)).toBe('placed');
    await shop.wake(id);
    await shop.reaches(id, 'in_review', 'waiting');
    expect(await shop.readState(id)).toBe('in_review');
    expect(shop.sandbox.charges).toHaveLength(1);
    expect(await shop.countParcels(id)).toBe(0);
  });

  test('never charges again after a kill before the engine stored the step', async () => {
    await open({
      ...checksEverySecond,
      beforeDeadline: { ...checksEverySecond.beforeDeadline, timeout: 2_000 },
    });
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await shop.kill();
    shop.forgetSteps();
    shop.sandbox.approve(referenceOf());
    // The deadline passes meanwhile. The payment came before it is noticed, so the goods are not released.
    await sleep(2_000);
    await shop.start();
    await shop.wake(id);
    await shop.reaches(id, 'fulfilled', 'in_review');
    await expectOneParcel(id);
    expect(shop.sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('wakes an order by a notification after a kill, and by nothing before', async () => {
    await open();
    const id = await shop.place();
    await waitForChecks(1);
    await shop.kill();
    const checks = shop.verifies();
    await shop.start();
    expect(await shop.readStatus(id)).toBe('running');
    shop.sandbox.approve(referenceOf());
    await sleep(2 * checksEverySecond.beforeDeadline.maxDelay);
    expect(shop.verifies()).toBe(checks);
    await shop.notify(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
  });

  test('continues an order that a person paused during its charge', async () => {
    await open();
    // The response is slow: the charge is running when the instance is paused.
    shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 5 });
    const id = await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    await shop.pause(id);
    expect(await shop.readState(id)).toBe('waiting');
    shop.sandbox.approve(referenceOf());
    await shop.resume(id);
    await shop.reaches(id, 'fulfilled', 'in_review');
    await expectOneParcel(id);
  });

  test('never charges again after a lost response', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    const id = await shop.place();
    await shop.reaches(id, 'in_review');
    // Longer than the delay before a second attempt of the step.
    await sleep(1_500);
    expect(shop.sandbox.charges).toHaveLength(1);
    expect(shop.sandbox.requests).toHaveLength(1);
  });

  test('holds the order for review if the service cannot be reached', async () => {
    await open();
    await shop.sandbox.close();
    const id = await shop.place();
    await shop.reaches(id, 'in_review', 'rejected');
    expect(await shop.readState(id)).toBe('in_review');
  });

  test('retries a charge under the same key after 429', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 2 });
    const id = await shop.place();
    await shop.reaches(id, 'waiting', 'rejected', 'in_review');
    expect(await shop.readState(id)).toBe('waiting');
    expect(shop.sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(3);
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('ends the order after a rejected charge', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 }, { times: 5 });
    const id = await shop.place();
    await shop.reaches(id, 'rejected');
    expect(shop.sandbox.requests).toHaveLength(1);
  });

  test('checks again after a temporary error and an early 404', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'status', status: 503 });
    shop.sandbox.fault('verify', { kind: 'status', status: 404 });
    const id = await shop.place();
    await waitForChecks(2);
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'fulfilled', 'in_review');
    await expectOneParcel(id);
  });

  test('holds orders for review after a permanent error or another amount', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'status', status: 403 });
    const refused = await shop.place();
    await shop.reaches(refused, 'in_review');
    expect(shop.verifies()).toBe(1);
    shop.sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, { times: 100 });
    const wrong = await shop.place();
    await shop.reaches(wrong, 'waiting');
    shop.sandbox.approve(referenceOf(1));
    await shop.reaches(wrong, 'in_review');
    expect(await shop.countParcels(wrong)).toBe(0);
  });

  test('checks at once after a notification, and not for each of many', async () => {
    await open(slowChecks);
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await shop.notify('TXN-UNKNOWN');
    await shop.notify(referenceOf());
    await waitForChecks(1);
    // The next would count after ten seconds, which a slow machine might take.
    await shop.query('UPDATE orders SET notified_at = notified_at + 3600000');
    await Promise.all(Array.from({ length: 10 }, () => shop.notify(referenceOf())));
    // Their checks would have come by now.
    await sleep(500);
    expect(shop.verifies()).toBe(1);
    expect(await shop.readState(id)).toBe('waiting');
    await shop.query('UPDATE orders SET notified_at = 0');
    shop.sandbox.approve(referenceOf());
    await shop.notify(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
  });

  test('releases orders at the deadline, and holds a later payment for review', async () => {
    await open({
      ...checksEverySecond,
      beforeDeadline: { ...checksEverySecond.beforeDeadline, timeout: 3_000 },
    });
    const declined = await shop.place();
    await shop.reaches(declined, 'waiting');
    shop.sandbox.decline(referenceOf());
    const late = await shop.place();
    await shop.reaches(late, 'waiting');
    await shop.reaches(declined, 'released');
    await shop.reaches(late, 'released');
    shop.sandbox.approve(referenceOf(1));
    await shop.reaches(late, 'paid_late');
    expect(await shop.countParcels(late)).toBe(0);
  });

  test('charges an order that was stored and never submitted', async () => {
    await open();
    const id = await shop.store();
    await shop.runCron();
    await shop.reaches(id, 'waiting');
    await shop.runCron();
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('keeps phone, email and API key out of the engine', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 });
    const id = await shop.place();
    await waitForChecks(1);
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    await shop.reaches(id, 'in_review');
    const [order] = await shop.query(`SELECT * FROM orders WHERE id = '${id}'`);
    await shop.kill();
    const dump = shop.dumpEngine();
    expect(dump).toContain(id);
    for (const secret of [order?.phone, order?.customer_email, shop.sandbox.liveKey])
      expect(dump).not.toContain(String(secret));
  });
});
