import { beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../../src/journal/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => fakeClocks());

/** A shop whose service takes 25 s for a charge, and a process of it whose reads wait for a connection for 9 s. */
async function openSlow() {
  const store = memoryStore();
  const shop = openOrderShop({
    store,
    async intercept(request) {
      if (request.method === 'POST') await new Promise((resolve) => setTimeout(resolve, 25 * SECOND));
      return undefined;
    },
  });
  const slow = { ...store };
  slow.read = async (key) => {
    await new Promise((resolve) => setTimeout(resolve, 9 * SECOND));
    return await store.read(key);
  };
  const { charge } = shop.start();
  const charging = charge('17', momo);
  await pass(4 * SECOND, 100);
  return { shop, slow: shop.start({}, {}, slow), charging };
}

test('says that a charge is under way when the read of its order took long', async () => {
  const { slow, charging } = await openSlow();
  expect(await finish(slow.read('17'))).toMatchObject({ state: 'processing' });
  await finish(charging);
});

test('does not resolve a charge that is under way when the read of it took long', async () => {
  const { shop, slow, charging } = await openSlow();
  const error = await finish(catchError(slow.payments.resolve('17/1', 'not_charged', note)));
  expect(error).toMatchObject({ retryable: true });
  await finish(charging);
  expect(shop.service.charges).toHaveLength(1);
});
