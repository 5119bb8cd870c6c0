// One application, two module systems: its own code is an ES module, and something that it uses is CommonJS.

import { createRequire } from 'node:module';
import * as imported from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';

const required = createRequire(import.meta.url)('payment-collection-client');
const [baseUrl, apiKey] = process.argv.slice(2);
const systems = { imported, required };
const charge = { amount: 30, customer_email: 'ama@example.com', phone: '0241234567', network: 'mtn' };

const caught = Object.values(systems).flatMap((from) => {
  const error = new from.ClosedError('verify');
  return Object.values(systems).map((by) => [
    error instanceof by.ClosedError,
    error instanceof by.PaymentsError,
    error instanceof by.NotFoundError,
  ]);
});

const journal = memoryJournal();
const references = [];
for (const { PaymentsClient } of Object.values(systems)) {
  const payments = new PaymentsClient({ baseUrl, apiKey, journal });
  const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-18' });
  references.push(reference);
}

console.log(
  JSON.stringify({
    copies: imported.PaymentsClient === required.PaymentsClient ? 1 : 2,
    caught,
    chargedOnce: references[0] === references[1],
  }),
);
