// Run by stores.test.ts in a merchant's project: charges under each key at once. The service never responds.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { charge } from '../../../helpers/service.ts';

const { payments } = await import(pathToFileURL(resolve('payments.ts')).href);
const charges = process.argv
  .slice(2)
  .map((idempotencyKey) => payments.chargeMobileMoney(charge, { idempotencyKey, timeout: 60_000 }));
await Promise.all(charges);
