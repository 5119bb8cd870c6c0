import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { plain } from './plain-example.ts';
import { newOrder, Shop, until } from './shop.ts';

describe('one Node process with SQLite, alone', () => {
  let shop: Shop;
  afterEach(() => shop.close());

  test('exits if another worker runs', async () => {
    const { env, ...engine } = await plain.start();
    shop = await Shop.open({ ...plain, start: async () => ({ env, ...engine }) });
    const first = createServer().listen(Number(new URL(env.WORKER_URL).port), '127.0.0.1');
    onTestFinished(() => void first.close());
    await once(first, 'listening');
    const order = newOrder();
    shop.orders.place(order);
    await expect(shop.startWorker()).rejects.toThrow('exited with 1');
    expect(shop.order(order.id).state).toBe('placed');
    expect(shop.sandbox.requests).toHaveLength(0);
  });

  test('ends in order when it is asked to while it resumes orders', async () => {
    shop = await Shop.open(plain);
    await shop.startWorker();
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await shop.killWorker();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const checks = shop.verifies();
    await shop.startWorker();
    await until(() => shop.verifies() > checks, 'the check at the start');
    expect(await shop.stopWorker()).toBe(0);
    expect(shop.order(id).state).toBe('waiting');
  });
});
