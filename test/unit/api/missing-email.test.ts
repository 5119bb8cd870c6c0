import { expect, test } from 'vitest';
import { transactionSchema } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { startService, successBodies } from '../../helpers/service.ts';

const { customer_email: _, ...others } = successBodies.verify().data;

test.each([
  ['no customer_email', {}],
  ['null', { customer_email: null }],
  ['an empty one', { customer_email: '' }],
  ['a number', { customer_email: 5 }],
])('reads %s as a customer_email of null', async (_, field) => {
  const data = { ...others, ...field };
  const service = await startService(200, { status: true, data });
  const client = service.client();
  const paid = { reference: REFERENCE, status: 'success', customer_email: null };
  expect(await client.verify(REFERENCE)).toMatchObject(paid);
  expect(await client.check(REFERENCE)).toMatchObject({ final: true, transaction: paid });
  expect(await client.waitForFinalStatus(REFERENCE)).toMatchObject(paid);
  expect(transactionSchema.parse(data)).toMatchObject(paid);
});
