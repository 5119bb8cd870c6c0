// Run by resume.test.ts. It waits for one transaction, given its reference and the time of its charge, and prints the end.
import { PaymentsClient } from '../../../../src/index.ts';

const [, , baseUrl = '', reference = '', startedAt, timeout] = process.argv;
const payments = new PaymentsClient({ apiKey: 'sk_test_4vK9qLm2Xw7RtZ', baseUrl });
const schedule = { initialDelay: 300, minDelay: 300, maxDelay: 900, timeout: Number(timeout) };
const end = await payments.waitForFinalStatus(reference, { startedAt: Number(startedAt), ...schedule }).then(
  ({ status }) => ({ status }),
  (error) => ({ ...error.toJSON(), at: Date.now() }),
);
console.log(JSON.stringify(end));
