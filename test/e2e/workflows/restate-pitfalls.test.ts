import { afterEach, expect, test } from 'vitest';
import { RestateServer, restate } from './restate-server.ts';
import { fastChecks, newOrder, Shop, slowChecks, until } from './shop.ts';

let shop: Shop;
afterEach(() => shop.close());

/** Opens a shop on Restate. Returns the server. */
async function open(schedule: object = fastChecks, settings: Readonly<Record<string, string>> = {}) {
  const started: RestateServer[] = [];
  const start = async (folder: string) => {
    const server = await RestateServer.start(folder, settings);
    started.push(server);
    return server;
  };
  shop = await Shop.open({ ...restate, start }, schedule);
  await shop.startWorker();
  const [server] = started;
  if (!server) throw new Error('no server');
  return server;
}

/** Returns the invocation of an order's workflow. */
async function findInvocation(server: RestateServer, id: string) {
  const [found] = await server.query(
    `SELECT id, status, retry_count FROM sys_invocation WHERE target = 'order/${id}/run'`,
  );
  return found;
}

test('charges an order that was placed while no worker was up', async () => {
  await open();
  await shop.killWorker();
  const id = await shop.place();
  expect(shop.order(id).state).toBe('placed');
  await shop.startWorker();
  await shop.reaches(id, 'waiting');
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('retries a charge after the Retry-After of a 429', async () => {
  await open();
  shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 4_000 });
  const id = await shop.place();
  await until(() => shop.sandbox.requests.length === 1, 'the charge that gets a 429');
  const rejectedAt = Date.now();
  await shop.reaches(id, 'waiting');
  expect(Date.now() - rejectedAt).toBeGreaterThan(2_000);
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('leaves an order to the next worker if this one is about to end', async () => {
  const server = await open();
  // The slow response keeps the worker from ending at once.
  shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 8 });
  const first = await shop.place();
  await until(() => shop.sandbox.charges.length === 1, 'the charge');
  let hasEnded = false;
  const ending = shop.stopWorker().finally(() => {
    hasEnded = true;
  });
  const ids = [first];
  while (!hasEnded) {
    const order = newOrder();
    shop.orders.place(order);
    await server.submit(order.id, fastChecks);
    ids.push(order.id);
    // Spread over the time that the worker takes to end.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await ending;
  await shop.startWorker();
  for (const id of ids) await shop.reaches(id, 'waiting', 'released', 'in_review');
  expect(ids.map((id) => shop.order(id).state)).not.toContain('in_review');
  expect(shop.sandbox.charges).toHaveLength(ids.length);
});

test('continues an order after the server is killed', async () => {
  const server = await open();
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  await server.killAndStartAgain();
  shop.sandbox.approve(reference);
  await shop.reaches(id, 'fulfilled');
  expect(shop.orders.countParcels(id)).toBe(1);
  expect(shop.sandbox.charges).toHaveLength(1);
});

test('keeps orders waiting, not paused, while no worker is up for long', async () => {
  const server = await open(fastChecks, { RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: '2' });
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  await shop.killWorker();
  await until(async () => {
    const order = await findInvocation(server, id);
    return Number(order?.retry_count) >= 4 || order?.status === 'paused';
  }, 'four attempts without a worker');
  shop.sandbox.approve(reference);
  await shop.startWorker();
  await shop.reaches(id, 'fulfilled');
});

test('counts each notification once, and at most one a second', async () => {
  const server = await open(slowChecks);
  const id = await shop.place();
  const { reference } = await shop.reaches(id, 'waiting');
  const startedAt = Date.now();
  for (let checks = 1; checks <= 3; checks++) {
    await until(async () => {
      await Promise.all([shop.notify(reference), shop.notify(reference), shop.notify(reference)]);
      return shop.verifies() >= checks;
    }, `checkPayment ${checks}`);
  }
  shop.sandbox.approve(reference);
  await until(async () => {
    await shop.notify(reference);
    return shop.order(id).state === 'fulfilled';
  }, 'the last notification');
  expect(shop.verifies()).toBeLessThanOrEqual(Math.ceil((Date.now() - startedAt) / 1_000) + 1);

  const verifies = shop.verifies();
  await shop.notify(reference);
  await until(async () => {
    const open = await server.query(`SELECT id FROM sys_invocation WHERE status <> 'completed'`);
    return open.length === 0;
  }, 'the notification to an order that is done');
  expect(shop.verifies()).toBe(verifies);
});

test('holds the order for review when its workflow is cancelled', async () => {
  const server = await open();
  const id = await shop.place();
  await shop.reaches(id, 'waiting');
  await server.cancel(String((await findInvocation(server, id))?.id));
  await shop.reaches(id, 'in_review');
});

test('keeps phone, email and API key out of the server', async () => {
  const server = await open();
  const id = await shop.place();
  const { reference, phone, customer_email } = await shop.reaches(id, 'waiting');
  await until(() => shop.verifies() >= 1, 'a check');
  shop.sandbox.approve(reference);
  await shop.reaches(id, 'fulfilled');
  const entries = await server.query('SELECT raw FROM sys_journal');
  const held = entries.map(({ raw }) => Buffer.from(String(raw), 'hex').toString()).join('\n');
  expect(held).toContain(reference);
  for (const secret of [phone, customer_email, shop.sandbox.liveKey]) expect(held).not.toContain(secret);
});
