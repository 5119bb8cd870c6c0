import { schedule } from 'node-cron';
import { orderPayments, payments, pool } from './payments.ts';
import { budget, cronPattern } from './settings.ts';

const stop = new AbortController();
let running: Promise<void> = Promise.resolve();

async function sweep(): Promise<void> {
  try {
    console.log(await orderPayments.sweep({ budget, signal: stop.signal }));
  } catch (error) {
    // What is due stays due, so the next sweep does it.
    if (!stop.signal.aborted) console.error('A sweep failed:', error);
  }
}

/** Another process can do the same: each payment is checked by one of them. */
const task = schedule(
  cronPattern,
  () => {
    running = sweep();
    return running;
  },
  { noOverlap: true },
);
console.log('ready');

// A sweep that runs ends after the handlers that it has called.
process.once('SIGTERM', async () => {
  await task.stop();
  stop.abort();
  await running;
  await payments.close();
  await pool.end();
});
