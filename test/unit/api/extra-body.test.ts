import { expect, test } from 'vitest';
import { InvalidInputError } from '../../../src/index.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';

const fieldsOfInput = ['amount', 'customer_email', 'currency', 'phone'];

test.each(fieldsOfInput)('refuses an extraBody that replaces %s', async (name) => {
  const service = await startService();
  const failure = await catchError(
    service.client().chargeMobileMoney(charge, { extraBody: { [name]: '1' } }),
  );
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toMatchObject({
    outcome: 'not_sent',
    issues: [{ path: `extraBody.${name}`, code: 'extra_body' }],
  });
  expect(service.requests).toEqual([]);
});

const circular: Record<string, unknown> = {};
circular.self = circular;

test.each([
  ['null', null],
  ['text', 'callback_url=x'],
  ['a list', ['callback_url']],
  ['a circle', circular],
  ['a value that JSON has no form for', { callback_id: 5n }],
])('refuses an extraBody that is %s, and sends nothing', async (_, extraBody) => {
  const service = await startService();
  const options = { extraBody: extraBody as Record<string, unknown> };
  const failure = await catchError(service.client().initialize(payment, options));
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toMatchObject({ outcome: 'not_sent', issues: [{ path: 'extraBody', code: 'extra_body' }] });
  expect(service.requests).toEqual([]);
});

test('reads extraBody once, so that a getter cannot replace the body', async () => {
  const service = await startService();
  let reads = 0;
  const extraBody = {
    get toJSON() {
      return ++reads === 1 ? 'text' : () => ({ amount: 1 });
    },
  };
  await service.client().initialize(payment, { extraBody });
  expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual({ ...payment, amount: 25.5, toJSON: 'text' });
});
