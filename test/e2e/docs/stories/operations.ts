import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments } from 'payment-collection-client/orders';
import { expect } from 'vitest';
import { lost, type Stories } from '../story.ts';

/** The pages for those who run a shop. */
export const operations: Stories = {
  'docs/guides/rotate-api-key.md, Rotate the API key': [
    {
      where: 'the first key is refused',
      arrange({ mock, names }) {
        mock.approve(names.reference);
        mock.fault('verify', { kind: 'status', status: 401 });
      },
      printed: [expect.stringMatching(/^'the API key was refused/), "'success'"],
    },
  ],
  'docs/guides/charged-twice.md, Answer "I was charged twice"': [
    {
      where: 'the customer has paid',
      arrange: ({ mock }) => pressPay(() => mock.settleAfter('next', 0, 'success')),
      printed: [expect.stringMatching(/^17\/1 TXN-\w+ success 25\.50 GHS \d{4}-/)],
      charges: 1,
    },
    {
      // A press would start another payment.
      where: 'the customer has declined',
      arrange: ({ mock }) => pressPay(() => mock.settleAfter('next', 0, 'failed')),
      printed: [expect.stringMatching(/^17\/1 TXN-\w+ failed 25\.50 GHS/)],
      charges: 1,
    },
    {
      where: 'the response was lost',
      arrange: ({ mock }) => pressPay(() => mock.fault('chargeMobileMoney', lost)),
      printed: ['17/1 has no reference'],
      charges: 1,
    },
  ],
};

/** The customer of order 17 pressed "Pay" in the shop, before a page is read. */
async function pressPay(arrange: () => unknown): Promise<void> {
  arrange();
  const database = new DatabaseSync('payments.db');
  const journal = sqliteJournal(database);
  const payments = new PaymentsClient({ journal });
  const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
  await orderPayments.charge('17', { amount: '25.50', currency: 'GHS', ...customer });
  await payments.close();
  database.close();
}
