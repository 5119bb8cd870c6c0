import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { PaymentsClient } from '../../../src/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { plain } from './plain-example.ts';
import { newOrder, Shop, until } from './shop.ts';

/** The first check comes late enough for the test to approve the payment before it. */
const lateCheck = {
  beforeDeadline: { initialDelay: 5_000, minDelay: 5_000, maxDelay: 5_000, timeout: 9_000_000 },
};

describe('one Node process with SQLite, killed at a bad time', () => {
  let shop: Shop;
  const open = async (schedule?: object) => {
    shop = await Shop.open(plain, schedule);
    await shop.startWorker();
    const database = new DatabaseSync(shop.journalFile);
    onTestFinished(() => database.close());
    /** Lets the time pass after which a record of a killed process is due again. */
    const expireLeases = () =>
      database.exec('UPDATE payments_journal SET due_at = 0 WHERE due_at IS NOT NULL');
    return { journal: sqliteJournal(database), expireLeases };
  };
  afterEach(() => shop.close());

  const expectOneParcel = (id: string) => {
    expect(shop.orders.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };

  test('continues after a kill right after the charge is recorded', async () => {
    const { journal } = await open();
    const id = await shop.place();
    await until(async () => (await journal.read(`${id}/1`))?.state === 'completed', 'the recorded charge');
    await shop.loseCustomers();
    await shop.killWorker();
    shop.sandbox.approve(shop.sandbox.charges[0]?.reference ?? '');
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('ends an order after a kill before onFinal has changed it', async () => {
    const { journal, expireLeases } = await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    const lock = lockWrites(shop.ordersFile);
    shop.sandbox.approve(reference);
    await until(async () => (await journal.read(`${id}/1`))?.followUp?.final !== undefined, 'onFinal');
    await shop.killWorker();
    lock.release();
    expect(shop.orders.countParcels(id)).toBe(0);
    const checks = shop.verifies();
    expireLeases();
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
    // The final status is recorded, so nothing is asked again.
    expect(shop.verifies()).toBe(checks);
  });

  test('ships once after a kill before the success of onFinal is recorded', async () => {
    const { journal, expireLeases } = await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    const orders = lockWrites(shop.ordersFile);
    shop.sandbox.approve(reference);
    await until(async () => (await journal.read(`${id}/1`))?.followUp?.final !== undefined, 'onFinal');
    const records = lockWrites(shop.journalFile);
    orders.release();
    await shop.reaches(id, 'fulfilled');
    await shop.killWorker();
    records.release();
    expect((await journal.read(`${id}/1`))?.followUp?.ended).toBeUndefined();
    expireLeases();
    await shop.startWorker();
    await until(
      async () => (await journal.read(`${id}/1`))?.followUp?.ended === 'delivered',
      'another onFinal',
    );
    expectOneParcel(id);
  });

  test('ends an order in review once a person has resolved its key', async () => {
    const { journal } = await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    const id = await shop.place();
    await shop.reaches(id, 'in_review');
    const [charge] = shop.sandbox.charges;
    shop.sandbox.approve(charge?.reference ?? '');
    const { baseUrl, liveKey: apiKey } = shop.sandbox;
    const payments = new PaymentsClient({ baseUrl, apiKey, journal });
    onTestFinished(() => payments.close());
    const note = { by: 'kofi@shop.example', reason: 'found by its request id' };
    await payments.resolve(`${id}/1`, { reference: charge?.reference ?? '' }, note);
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('checks each payment in one of two processes', async () => {
    await open(lateCheck);
    await shop.startAnotherWorker({ SHOP_URL: `http://127.0.0.1:${await findFreePort()}` });
    const ids = [];
    for (let orders = 0; orders < 5; orders++) {
      const id = await shop.place();
      ids.push(id);
      shop.sandbox.approve((await shop.reaches(id, 'waiting')).reference);
    }
    for (const id of ids) await shop.reaches(id, 'fulfilled');
    expect(ids.map((id) => shop.orders.countParcels(id))).toEqual([1, 1, 1, 1, 1]);
    expect(shop.verifies()).toBe(5);
  });

  test('charges a customer who was declined again after another press', async () => {
    await open();
    const id = await shop.place();
    shop.sandbox.decline((await shop.reaches(id, 'waiting')).reference);
    await shop.reaches(id, 'placed');
    await shop.place({ id });
    shop.sandbox.approve((await shop.reaches(id, 'waiting')).reference);
    await shop.reaches(id, 'fulfilled');
    expect(shop.sandbox.charges).toHaveLength(2);
    expect(shop.orders.countParcels(id)).toBe(1);
  });

  test('charges nothing for an order without a press of the button', async () => {
    await open();
    const { id } = newOrder();
    shop.orders.place(newOrder({ id }));
    const paid = await shop.place();
    shop.sandbox.approve((await shop.reaches(paid, 'waiting')).reference);
    await shop.reaches(paid, 'fulfilled');
    expect((await shop.order(id)).state).toBe('placed');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('ends in order when it is asked to during a check', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'hang' }, { times: 10 });
    const id = await shop.place();
    await until(() => shop.verifies() >= 1, 'the check');
    expect(await shop.stopWorker()).toBe(0);
    expect((await shop.order(id)).state).toBe('waiting');
  });
});

/** Keeps other processes from writing to a database, as a long transaction does. They can still read. */
function lockWrites(file: string): { release(): void } {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec('BEGIN IMMEDIATE');
  let isLocked = true;
  const release = () => {
    if (isLocked) database.close();
    isLocked = false;
  };
  onTestFinished(release);
  return { release };
}
