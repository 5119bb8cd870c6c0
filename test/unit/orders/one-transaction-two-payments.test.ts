import { beforeEach, expect, test } from 'vitest';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop } from '../../helpers/order-shop.ts';
import { successBodies } from '../../helpers/service.ts';

beforeEach(() => fakeClocks());

/** The service takes the second charge for the first one, answers it first, and both with the transaction of 10.00. */
const transaction = { reference: 'TXN-1', amount: '10.00' };

async function answer(request: Request): Promise<Response> {
  if (request.method === 'GET')
    return Response.json(successBodies.verify({ ...transaction, status: 'success' }));
  const { amount } = await request.json();
  if (amount === 10) await new Promise((resolve) => setTimeout(resolve, SECOND));
  return Response.json(successBodies.chargeMobileMoney(transaction));
}

test('does not deliver for 12.00 when one transaction of 10.00 answers both', async () => {
  const shop = openOrderShop({ intercept: answer });
  const { charge, sweep, read } = shop.start();
  const first = charge('17', { ...momo, amount: '10.00' });
  await pass(100, 10);
  await finish(charge('17', { ...momo, amount: '12.00' }, { startAnother: true }));
  await finish(first);
  await pass(20 * SECOND);
  await finish(sweep());
  expect(shop.paid).toEqual([]);
  const { payments } = await finish(read('17'));
  expect(payments).toMatchObject([
    { amount: '10.00', attention: 'shared_reference' },
    { amount: '12.00', attention: 'mismatch' },
  ]);
});
