// Run by processes.test.ts. It waits for one transaction, given its reference and the time of its charge, and prints the end.
import { PaymentsClient } from 'payment-collection-client';

const [, , baseUrl = '', reference = '', startedAt, timeout] = process.argv;
const payments = new PaymentsClient({ apiKey: 'sk_test_4vK9qLm2Xw7RtZ', baseUrl });
// No other poll comes between the first and the last.
const schedule = { initialDelay: 300, minDelay: 60_000, maxDelay: 60_000, timeout: Number(timeout) };
const end = await payments.waitForFinalStatus(reference, { startedAt: Number(startedAt), ...schedule }).then(
  ({ status }) => ({ status }),
  (error) => error.toJSON(),
);
console.log(JSON.stringify(end));
