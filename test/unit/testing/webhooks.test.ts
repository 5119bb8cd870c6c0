import { expect, test } from 'vitest';
import { payment, startMock } from './start-mock.ts';

test('posts the payload to a handler when a payment becomes final', async () => {
  const { mock, payments } = startMock();
  const received: unknown[] = [];
  mock.webhooks.deliverTo(async (request) => {
    received.push(await request.json());
  });
  const { reference } = await payments.initialize(payment);
  mock.approve(reference);
  expect(received).toEqual([]);
  await mock.webhooks.flush();
  expect(received).toMatchObject([{ event: 'transaction.success', data: { reference, status: 'success' } }]);
  expect(mock.webhooks.deliveries).toMatchObject([{ state: 'delivered', url: 'handler' }]);
});
