/**
 * Shows the files that one call of each kind enters, warm, and how often a file is entered again after it was left: `npm run walks`.
 * The helpers of support/ are left out. `-- order` prints the walk of an order.
 */

import { traceCall } from './trace.ts';

const { PaymentsClient } = await import('../../src/index.ts');
const { memoryJournal } = await import('../../src/stores/index.ts');
const { createOrderPayments } = await import('../../src/orders/index.ts');
const { PaymentService } = await import('../../src/developers/service/service.ts');

const HELPERS = /^(?:support|developers)\/|^parse-options\.ts/;

const [apiKey, baseUrl] = ['sk_test_walk', 'https://payments.example/api/v1'];
const service = new PaymentService({
  baseUrl,
  apiKeys: [apiKey],
  allowTestCharges: true,
  checkoutBase: 'https://payments.example',
});
const fetch: typeof globalThis.fetch = (input, init) => service.handle(new Request(input, init));
const journal = memoryJournal();
const plain = new PaymentsClient({ apiKey, baseUrl, fetch });
const keyed = new PaymentsClient({ apiKey, baseUrl, fetch, journal });
const orders = createOrderPayments({ payments: keyed, journal, onPaid() {}, onAttention() {} });
const input = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '0244123456',
  network: 'mtn',
} as const;

let count = 0;
const walks: Readonly<Record<string, () => Promise<unknown>>> = {
  amount: () => plain.initialize({ amount: '25.50', customer_email: input.customer_email }),
  reference: async () => {
    const [entry] = service.ledger.list();
    if (entry) service.ledger.end(entry.reference, 'success');
    return await plain.waitForFinalStatus(entry?.reference ?? '');
  },
  key: () => keyed.chargeMobileMoney(input, { idempotencyKey: `key-${++count}` }),
  order: () => orders.charge(`${++count}`, input),
};

const [wanted] = process.argv.slice(2);
console.log('walk        files  re-entries');
for (const [name, call] of Object.entries(walks)) {
  // What is done once is no part of the walk.
  await call();
  const files = (await traceCall(call)).filter((file) => !HELPERS.test(file));
  const entered = files.filter((file, index) => file !== files[index - 1]);
  const distinct = new Set(entered);
  console.log(
    `${name.padEnd(12)}${String(distinct.size).padStart(5)}${String(entered.length - distinct.size).padStart(12)}`,
  );
  if (name === wanted) console.log(entered.join('\n'));
}
