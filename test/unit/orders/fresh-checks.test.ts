import { beforeEach, expect, test } from 'vitest';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { type OrderShop, openOrderShop, page, postsOf } from '../../helpers/order-shop.ts';

beforeEach(() => fakeClocks());

/** A shop whose service reads a status at once, and answers a verify after so many milliseconds. */
function openSlowShop(latency: number): OrderShop {
  const shop = openOrderShop({
    async intercept(request) {
      if (request.method !== 'GET') return undefined;
      const reference = request.url.slice(request.url.lastIndexOf('/') + 1);
      const found = shop.service.transactions.find((transaction) => transaction.reference === reference);
      if (!found) throw new Error(reference);
      const { status, amount, currency, customer_email } = found;
      const data = { reference, status, amount, currency, customer_email, paid_at: null };
      await new Promise((resolve) => setTimeout(resolve, latency));
      return Response.json({ status: true, data });
    },
  });
  return shop;
}

/** The first card of the page is declined, and the second one is paid while a verify is on its way back. */
async function openPaidPage() {
  const shop = openSlowShop(5 * SECOND);
  const { checkout, wait } = shop.start();
  await finish(checkout('17', page));
  const [{ reference } = { reference: '' }] = shop.service.transactions;
  const waiting = wait('17', { timeout: 60 * SECOND });
  await pass(7 * SECOND);
  shop.service.decline(reference);
  await pass(2 * SECOND);
  return { shop, checkout, waiting, reference };
}

test('checks a payment anew for a press, when the check of a wait is on its way back', async () => {
  const { shop, checkout, waiting, reference } = await openPaidPage();
  shop.service.approve(reference);
  const pressed = checkout('17', { ...page, amount: '30.00' });
  await finish(waiting);
  expect(await finish(pressed)).toMatchObject({ state: 'in_review', reason: 'price_changed' });
  expect(postsOf(shop)).toHaveLength(1);
});

test('checks a payment anew for a press, right after the check of a wait came back', async () => {
  const { shop, checkout, waiting, reference } = await openPaidPage();
  shop.service.approve(reference);
  expect(await finish(waiting)).toMatchObject({ state: 'unpaid' });
  expect(await finish(checkout('17', page))).toMatchObject({ state: 'paid' });
  expect(postsOf(shop)).toHaveLength(1);
});
