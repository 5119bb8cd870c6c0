import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recordMeasurement } from '../../../../test/e2e/workflows/measurements.ts';
import { type DatabaseServer, startPostgres } from '../../../../test/helpers/databases.ts';
import { AwsShop, checksEverySecond, slowChecks, until } from './shop.ts';

const name = 'AWS durable functions on the local runner';

describe(name, () => {
  let server: DatabaseServer;
  let databases = 0;
  let databaseUrl = '';
  let shop: AwsShop;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    databases++;
    databaseUrl = server.url.replace(/postgres$/, `aws_${databases}`);
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query(`CREATE DATABASE aws_${databases}`);
    await client.end();
  });
  afterEach(() => shop.close());

  const open = async (schedule?: object) => {
    shop = await AwsShop.open(databaseUrl, schedule);
  };
  const referenceOf = (charge = 0) => shop.sandbox.charges[charge]?.reference ?? '';
  const expectOneParcel = async (id: string) => {
    expect(await shop.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };
  const waitForChecks = (checks: number) => until(() => shop.verifies() >= checks, `${checks} checks`);

  test('charges an order once, and runs nothing while it waits', async () => {
    await open();
    const id = await shop.place();
    await waitForChecks(3);
    await until(() => !shop.lambda.isRunning, 'the end of the invocation');
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'fulfilled');
    expect(await shop.lambda.waitForEnd(id)).toBe('SUCCEEDED');
    await expectOneParcel(id);
    recordMeasurement(name, { requests: shop.verifies() });
    // A second request for the same order, and the next run of the schedule.
    await shop.submit(id);
    await shop.lambda.run('place-order.ts');
    expect(shop.lambda.listOperations(id, 'charge')).toEqual(['SUCCEEDED']);
  });

  test('continues after a kill while it waits', async () => {
    await open();
    const id = await shop.place();
    await waitForChecks(1);
    await until(() => !shop.lambda.isRunning, 'the end of the invocation');
    await shop.lambda.kill();
    const killedAt = Date.now();
    shop.sandbox.approve(referenceOf());
    await waitForChecks(2);
    recordMeasurement(name, { continuesAfterKillInWait: Date.now() - killedAt });
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
    expect(shop.attempts()).toBe(1);
  });

  test('runs a check again that a kill interrupted', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const id = await shop.place();
    await waitForChecks(1);
    await shop.lambda.kill();
    const killedAt = Date.now();
    shop.sandbox.approve(referenceOf());
    await waitForChecks(2);
    recordMeasurement(name, { continuesAfterKillInCheck: Date.now() - killedAt });
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
    expect(shop.verifies()).toBe(2);
  });

  test('never runs a charge again that a kill interrupted', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const id = await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    await shop.lambda.kill();
    await shop.reaches(id, 'in_review', 'waiting', 'rejected');
    expect(await shop.readState(id)).toBe('in_review');
    expect(await shop.lambda.waitForEnd(id)).toBe('SUCCEEDED');
    expect(shop.lambda.listOperations(id, 'charge')).toEqual(['FAILED']);
    expect(shop.attempts()).toBe(1);
    expect(await shop.countParcels(id)).toBe(0);
  });

  test('takes the result of an interrupted charge from the journal', async () => {
    await open();
    const id = await shop.store();
    const unlock = await shop.lockOrder(id);
    await shop.lambda.run('place-order.ts');
    await shop.waitUntilRecorded(id);
    await shop.lambda.kill();
    await unlock();
    expect(await shop.readState(id)).toBe('placed');
    await waitForChecks(1);
    expect(shop.lambda.listOperations(id, 'charge')).toEqual(['FAILED']);
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
    expect(shop.attempts()).toBe(1);
  });

  test('charges in another step after 429, and never after a lost response', async () => {
    await open();
    // The client itself makes three attempts.
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 3 });
    const id = await shop.place();
    await shop.reaches(id, 'waiting', 'rejected', 'in_review');
    expect(await shop.readState(id)).toBe('waiting');
    expect(shop.lambda.listOperations(id, 'charge')).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(shop.sandbox.charges).toHaveLength(1);
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    const lost = await shop.place();
    await shop.reaches(lost, 'in_review');
    expect(await shop.lambda.waitForEnd(lost)).toBe('SUCCEEDED');
    expect(shop.sandbox.charges).toHaveLength(2);
    expect(shop.attempts()).toBe(5);
  });

  test('ends orders after a rejected charge, and holds others for review', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 });
    const rejected = await shop.place();
    await shop.reaches(rejected, 'rejected');
    expect(shop.attempts()).toBe(1);
    shop.sandbox.fault('verify', { kind: 'status', status: 403 });
    const refused = await shop.place();
    await shop.reaches(refused, 'in_review');
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
    await until(async () => (await shop.readOrder(id)).callback_id !== null, 'the wait');
    const { callback_id: first } = await shop.readOrder(id);
    await shop.notify('TXN-UNKNOWN');
    await Promise.all([shop.notify(referenceOf()), shop.notify(referenceOf())]);
    await waitForChecks(1);
    await until(async () => (await shop.readOrder(id)).callback_id !== first, 'the next wait');
    // The next would count after ten seconds, which a slow machine might take.
    await shop.query(`UPDATE orders SET notified_at = now() + interval '1 hour'`);
    await shop.notify(referenceOf());
    // Its check would have come by now.
    await sleep(500);
    expect(shop.verifies()).toBe(1);
    await shop.query(`UPDATE orders SET notified_at = 'epoch'`);
    shop.sandbox.approve(referenceOf());
    await shop.notify(referenceOf());
    await shop.reaches(id, 'fulfilled');
    await expectOneParcel(id);
  });

  test('releases orders at the deadline, and holds a later payment for review', async () => {
    const beforeDeadline = { ...checksEverySecond.beforeDeadline, timeout: 3_000 };
    await open({ ...checksEverySecond, beforeDeadline });
    const id = await shop.place();
    await shop.reaches(id, 'released');
    shop.sandbox.approve(referenceOf());
    await shop.reaches(id, 'paid_late');
    expect(await shop.countParcels(id)).toBe(0);
  });

  test('charges an order that was stored and never submitted', async () => {
    await open();
    const id = await shop.store();
    await shop.lambda.run('place-order.ts');
    await shop.reaches(id, 'waiting');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('runs an order on this machine, without AWS', async () => {
    await open();
    const { id, ended } = shop.runLocally();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    shop.sandbox.approve(referenceOf());
    await ended;
    expect(await shop.readState(id)).toBe('fulfilled');
    await expectOneParcel(id);
  });

  test('keeps phone, email and API key out of what AWS stores', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    const id = await shop.store();
    await shop.lambda.run('place-order.ts');
    await shop.reaches(id, 'in_review');
    await shop.lambda.waitForEnd(id);
    const { phone, customer_email } = await shop.readOrder(id);
    expect(shop.lambda.dump()).toContain(id);
    for (const secret of [phone, customer_email, shop.sandbox.liveKey])
      expect(shop.lambda.dump()).not.toContain(String(secret));
  });
});
