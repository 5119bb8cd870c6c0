import { beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../../src/journal/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop } from '../../helpers/order-shop.ts';

beforeEach(() => fakeClocks());

test('checks at a pace while a webhook is ahead of the record of its charge', async () => {
  const store = memoryStore();
  let isAway = false;
  const held = { ...store };
  held.write = async (key, change) => {
    // The claim of the reference is written, and what came of the charge is not.
    if (isAway && key.startsWith('order')) throw new Error('the database is read-only');
    return await store.write(key, change);
  };
  const shop = openOrderShop({
    store: held,
    async intercept(request) {
      isAway ||= request.method === 'POST';
      return undefined;
    },
  });
  const { charge } = shop.start();
  const web = shop.start({}, {}, store);
  const charging = charge('17', momo);
  await pass(SECOND);
  const [{ reference } = { reference: '' }] = shop.service.charges;
  shop.service.approve(reference);
  await finish(web.notify({ reference }));
  expect(await finish(web.read('17'))).toMatchObject({ state: 'processing', payment: { reference } });
  const before = shop.requests.length;
  const waiting = web.wait('17', { timeout: 5 * SECOND });
  await finish(waiting);
  expect(shop.requests.length - before).toBeLessThan(4);
  isAway = false;
  await finish(charging);
});
