import { afterEach, expect, test } from 'vitest';
import { RestateServer, restate } from './restate-server.ts';
import { newOrder, quickLooks, Shop, slowLooks, until } from './shop.ts';

let shop: Shop;
afterEach(() => shop.close());

/** A shop on Restate, and the server, to look into. */
async function open(looks: object = quickLooks, settings: Readonly<Record<string, string>> = {}) {
  const started: RestateServer[] = [];
  const start = async (folder: string) => {
    const server = await RestateServer.start(folder, settings);
    started.push(server);
    return server;
  };
  shop = await Shop.open({ ...restate, start }, looks);
  await shop.startWorker();
  const [server] = started;
  if (!server) throw new Error('no server');
  return server;
}

/** The workflow of an order, as the server sees it. */
async function run(server: RestateServer, id: string) {
  const [found] = await server.query(
    `SELECT id, status, retry_count FROM sys_invocation WHERE target = 'order/${id}/run'`,
  );
  return found;
}

test('an order that is placed while no worker is up is charged by the next one', async () => {
  await open();
  await shop.killWorker();
  const id = await shop.place();
  expect(shop.order(id).state).toBe('placed');
  await shop.startWorker();
  await shop.reaches(id, 'waiting');
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('a charge that was provably not taken is tried again, after the pause that the service asked for', async () => {
  await open();
  shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 4_000 });
  const id = await shop.place();
  await until(() => shop.sandbox.requests.length === 1, 'the charge that is not taken');
  const refused = Date.now();
  await shop.reaches(id, 'waiting');
  expect(Date.now() - refused).toBeGreaterThan(2_000);
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('an order that comes to a worker that is about to end is left to the next one', async () => {
  const server = await open();
  // It keeps the worker from ending for a moment.
  shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 8 });
  const first = await shop.place();
  await until(() => shop.sandbox.charges.length === 1, 'the charge');
  let ended = false;
  const ending = shop.stopWorker().finally(() => {
    ended = true;
  });
  const ids = [first];
  while (!ended) {
    const order = newOrder();
    shop.orders.place(order);
    await server.submit(order.id, quickLooks);
    ids.push(order.id);
    // Spread over the time that it takes to end.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await ending;
  await shop.startWorker();
  for (const id of ids) await shop.reaches(id, 'waiting', 'released', 'parked');
  expect(ids.map((id) => shop.order(id).state)).not.toContain('parked');
  expect(shop.sandbox.charges).toHaveLength(ids.length);
});

test('a server that is killed while an order waits goes on with it', async () => {
  const server = await open();
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  await server.killAndStartAgain();
  shop.sandbox.approve(reference);
  await shop.reaches(id, 'fulfilled');
  expect(shop.orders.parcels(id)).toBe(1);
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('a worker that stays away for long finds its orders waiting, not paused', async () => {
  const server = await open(quickLooks, { RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: '2' });
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  await shop.killWorker();
  await until(async () => {
    const order = await run(server, id);
    return Number(order?.retry_count) >= 4 || order?.status === 'paused';
  }, 'four tries without a worker');
  shop.sandbox.approve(reference);
  await shop.startWorker();
  await shop.reaches(id, 'fulfilled');
});

test('each hint counts once, and one a second at most', async () => {
  const server = await open(slowLooks);
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  const began = Date.now();
  for (let looks = 1; looks <= 3; looks++) {
    await until(async () => {
      await Promise.all([shop.hint(reference), shop.hint(reference), shop.hint(reference)]);
      return shop.verifies() >= looks;
    }, `look ${looks}`);
  }
  shop.sandbox.approve(reference);
  await until(async () => {
    await shop.hint(reference);
    return shop.order(id).state === 'fulfilled';
  }, 'the last hint');
  expect(shop.verifies()).toBeLessThanOrEqual(Math.ceil((Date.now() - began) / 1_000) + 1);

  const verifies = shop.verifies();
  await shop.hint(reference);
  await until(async () => {
    const open = await server.query(`SELECT id FROM sys_invocation WHERE status <> 'completed'`);
    return open.length === 0;
  }, 'the hint to an order that is done');
  expect(shop.verifies()).toBe(verifies);
});

test('a workflow that somebody cancels leaves its order to a person', async () => {
  const server = await open();
  const id = await shop.place();
  await shop.reaches(id, 'waiting');
  await server.cancel(String((await run(server, id))?.id));
  await shop.reaches(id, 'parked');
});

test("the server holds neither the customer's phone nor email, nor the key", async () => {
  const server = await open();
  const id = await shop.place();
  const { reference, phone, customer_email } = await shop.reaches(id, 'waiting');
  await until(() => shop.verifies() >= 1, 'a look');
  shop.sandbox.approve(reference);
  await shop.reaches(id, 'fulfilled');
  const entries = await server.query('SELECT raw FROM sys_journal');
  const held = entries.map(({ raw }) => Buffer.from(String(raw), 'hex').toString()).join('\n');
  expect(held).toContain(reference);
  for (const secret of [phone, customer_email, shop.sandbox.liveKey]) expect(held).not.toContain(secret);
});
