import { expect, test } from 'vitest';
import { InvalidRequestError } from '../../../src/index.ts';
import { payment, startMock } from './start-mock.ts';

test('accepts a return address as the sandbox does', async () => {
  const { mock, payments } = startMock();
  await payments.initialize(payment, { extraBody: { sandbox_return_url: 'https://shop.test/return' } });
  expect(mock.transactions).toHaveLength(1);
});

test('rejects a malformed return address as the sandbox does', async () => {
  const { mock, payments } = startMock();
  const starting = payments.initialize(payment, { extraBody: { sandbox_return_url: '/return' } });
  await expect(starting).rejects.toBeInstanceOf(InvalidRequestError);
  expect(mock.transactions).toEqual([]);
});
