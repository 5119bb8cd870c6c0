import { expect, test } from 'vitest';
import { IdempotencyConflictError } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { parseGhanaPhone } from '../../../src/phone.ts';
import { catchError, charge } from '../../helpers/service.ts';
import { startMock } from '../testing/start-mock.ts';

const typed = ['024 412 3456', '+233 24 412 3456'] as const;
const withKey = { idempotencyKey: 'order-17/1' };

test('a phone written in two ways is a conflict under one key', async () => {
  const { mock, client } = startMock();
  const payments = client({ journal: memoryJournal() });
  const [first, second] = typed.map((phone) => ({ ...charge, phone }));
  if (!first || !second) throw new TypeError('Expected two inputs.');
  await payments.chargeMobileMoney(first, withKey);
  const error = await catchError(payments.chargeMobileMoney(second, withKey));
  expect(error).toBeInstanceOf(IdempotencyConflictError);
  expect(mock.charges).toHaveLength(1);
});

test('a phone written in two ways is one charge if it is normalised', async () => {
  const { mock, client } = startMock();
  const payments = client({ journal: memoryJournal() });
  const results = [];
  for (const text of typed) {
    const phone = parseGhanaPhone(text)?.phone ?? text;
    results.push(await payments.chargeMobileMoney({ ...charge, phone }, withKey));
  }
  expect(results).toMatchObject([
    { reference: 'TXN-000001', replayed: false },
    { reference: 'TXN-000001', replayed: true },
  ]);
  expect(mock.charges).toMatchObject([{ phone: '0244123456' }]);
});

test('the client sends a phone that parseGhanaPhone does not know', async () => {
  const { mock, payments } = startMock();
  const phone = '030 212 3456';
  expect(parseGhanaPhone(phone)).toBeNull();
  await payments.chargeMobileMoney({ ...charge, phone });
  expect(mock.charges).toMatchObject([{ phone }]);
});
