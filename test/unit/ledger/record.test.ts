import { expect, test } from 'vitest';
import { parseLedgerRecord } from '../../../src/ledger/record.ts';
import { createOrder } from './records.ts';

test('reads a record as it was written', () => {
  const record = createOrder();
  expect(parseLedgerRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
});

test.each([
  ['a newer format', { ...createOrder(), format: 2 }],
  [
    'a charge of an unknown kind',
    { ...createOrder(), payments: [{ ...createOrder().payments[0], charge: { is: 'refunded' } }] },
  ],
  [
    'a payment without its attempt',
    { ...createOrder(), payments: [{ ...createOrder().payments[0], attempt: undefined }] },
  ],
  ['no record', null],
])('reads no record from %s', (_, value) => {
  expect(parseLedgerRecord(value)).toBeUndefined();
});
