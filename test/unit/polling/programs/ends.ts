// Run by processes.test.ts. It ends waits between polls, in flight and in the queue in one way. Then the process must
// exit by itself.
import { PaymentsClient } from 'payment-collection-client';

const responded = Promise.withResolvers<void>();
let requests = 0;

const [, , baseUrl, ending] = process.argv;
const payments = new PaymentsClient({
  apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
  ...(baseUrl === undefined ? {} : { baseUrl }),
  timeout: 600_000,
  polling: { maxConcurrency: 15 },
  onEvent({ type }) {
    if (type === 'request') requests++;
    if (type === 'response') responded.resolve();
  },
});
const abort = new AbortController();
const timeout = ending === 'deadline' ? 400 : 600_000;
const waits: Promise<unknown>[] = [];
for (let count = 0; count < 20; count++) {
  const options = { signal: abort.signal, timeout };
  waits.push(payments.waitForFinalStatus(`TXN-${count}`, options));
}

const reading = (async () => {
  for await (const { status } of payments.watch('TXN-watched', { signal: abort.signal, timeout })) {
    if (ending === 'break' && status === 'pending') break;
  }
})();
const ended = Promise.allSettled([...waits, reading]);
await responded.promise;
if (ending === 'abort') abort.abort();
if (ending === 'close') payments.close();
if (ending === 'break') {
  await reading;
  abort.abort();
}
const results = await ended;
const requestsBefore = requests;
process.once('exit', () => {
  const statuses = results.map(({ status }) => status);
  console.log(JSON.stringify({ statuses, requestsAfter: requests - requestsBefore }));
});
