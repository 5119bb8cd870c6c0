import { expect, test } from 'vitest';
import { InvalidInputError } from '../../../src/index.ts';
import { momo, openOrderShop, page } from '../../helpers/order-shop.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';

const refusal = {
  name: 'InvalidInputError',
  outcome: 'not_sent',
  issues: [{ path: 'amount', message: expect.stringContaining('at most 25.5'), code: 'too_large' }],
};

test.each([[25.5], ['25.50']])('refuses an amount above the maxAmount %j', async (maxAmount) => {
  const service = await startService();
  const client = service.client({ maxAmount });
  for (const amount of [25.51, '25.51', 2550]) {
    expect(await catchError(client.initialize({ ...payment, amount }))).toMatchObject(refusal);
    expect(await catchError(client.chargeMobileMoney({ ...charge, amount }))).toMatchObject(refusal);
  }
  expect(service.requests).toEqual([]);
});

test('sends an amount up to maxAmount, and any amount without one', async () => {
  const service = await startService();
  await service.client({ maxAmount: 25.5 }).initialize(payment);
  const failure = await catchError(service.client().initialize({ ...payment, amount: 2550 }));
  expect(failure).toMatchObject({ name: 'TransactionMismatchError' });
  expect(service.requests).toHaveLength(2);
});

test('names an amount above maxAmount beside every other issue', async () => {
  const service = await startService();
  const client = service.client({ maxAmount: 10 });
  const failure = await catchError(client.chargeMobileMoney({ ...charge, amount: '25.50', phone: 'none' }));
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toHaveProperty('issues', [
    expect.objectContaining({ path: 'phone' }),
    expect.objectContaining({ path: 'amount', code: 'too_large' }),
  ]);
});

test('refuses a press above maxAmount, and leaves the order as it is', async () => {
  const shop = openOrderShop();
  const process = shop.start({}, { maxAmount: 100 });
  const refused = { state: 'unpaid', canPay: true, payments: [], error: { code: 'invalid_input' } };
  expect(await process.charge('17', { ...momo, amount: 2550 })).toMatchObject(refused);
  expect(await process.checkout('17', { ...page, amount: 2550 })).toMatchObject(refused);
  expect(shop.requests).toEqual([]);

  await process.charge('17', momo);
  const pressed = await process.charge('17', { ...momo, amount: 2550 }, { startAnother: true });
  expect(pressed).toMatchObject({ state: 'processing', differs: true });
  expect(pressed.payments).toHaveLength(1);
  expect(shop.requests.filter((request) => request.startsWith('POST'))).toHaveLength(1);
});
