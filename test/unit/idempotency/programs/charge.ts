// Run by processes.test.ts: charges under a key, prints the result or error, and then must end by itself.
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';

const [, , baseUrl = '', path = '', idempotencyKey = ''] = process.argv;
const journal = sqliteJournal(new DatabaseSync(path));
const payments = new PaymentsClient({ apiKey: 'sk_test_4vK9qLm2Xw7RtZ', baseUrl, journal });
const input = {
  amount: '25.50',
  customer_email: 'ama.serwaa@example.com',
  phone: '024 412 3456',
  network: 'mtn',
} as const;
const end = await payments
  .chargeMobileMoney(input, { idempotencyKey })
  .catch((error) => ({ code: error.code, outcome: error.outcome }));
console.log(JSON.stringify(end));
