// Run by stores.test.ts in a merchant's project: charges under each key at once. The service never responds.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { payments } = await import(pathToFileURL(resolve('payments.ts')).href);
const charge = { amount: '25.50', customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };
const charges = process.argv
  .slice(2)
  .map((idempotencyKey) => payments.chargeMobileMoney(charge, { idempotencyKey, timeout: 60_000 }));
await Promise.all(charges);
