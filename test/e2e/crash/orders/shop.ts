// A process of a shop, started by harness.ts. It presses "Pay" for its orders and sweeps, until it is told to stop.
import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JournalError, PaymentsClient } from '../../../../src/index.ts';
import { createOrderPayments } from '../../../../src/orders/index.ts';
import { API_KEY } from '../api-key.ts';
import { openJournal } from '../journals.ts';
import { KillSwitch, killOverdue, watchCommits } from '../kill-switch.ts';
import { seededRandom } from '../seeded-random.ts';
import { replaceStore, watchStore } from '../watched-store.ts';
import { reviewAll } from './review.ts';
import { type killPoints, shopSettingsSchema } from './settings.ts';

const settings = shopSettingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, kind, slot, generation, folder, lease, killPlan, isControl } = settings;
process.on('disconnect', () => process.exit(1));

const settle = new AbortController();
if (settings.isSettling) settle.abort();
const stop = new AbortController();
const killSwitch = new KillSwitch<(typeof killPoints)[number]>(killPlan);
const log = (event: object) =>
  appendFileSync(
    join(folder, 'shop', `${generation}.jsonl`),
    `${JSON.stringify({ at: Date.now(), generation, ...event })}\n`,
  );
const opened = await openJournal(kind, settings.place, {
  lease,
  other: slot % 2 === 1,
  aroundCommit: watchCommits(killSwitch),
});
const journal = replaceStore(opened.journal, (store) => watchStore(store, { killSwitch }));
const payments = new PaymentsClient({
  apiKey: API_KEY,
  baseUrl: settings.baseUrl,
  timeout: 2_000,
  maxRetries: 1,
  journal,
  polling: { initialDelay: 200, minDelay: 200, maxDelay: 800, timeout: 4_000, maxRequestsPerSecond: 400 },
  headers: { 'x-generation': String(generation) },
  fetch: (input, init) => killSwitch.during('request sent', () => fetch(input, init)),
  onEvent: (event) => {
    if (event.type === 'request') killSwitch.reach('before request');
    if (event.type === 'response') killSwitch.reach('response read');
  },
});
const orderPayments = createOrderPayments({
  payments,
  journal,
  async onPaid({ order, payment, transaction }) {
    killSwitch.reach('onPaid called');
    log({ event: 'onPaid', order, key: payment.key, reference: transaction.reference });
    killSwitch.reach('onPaid logged');
  },
  onAttention: ({ order, key, reason }) => log({ event: 'onAttention', order, key, reason }),
  onUnpaid: ({ order, payment }) => log({ event: 'onUnpaid', order, key: payment.key }),
});

flushCompileCache();
process.on('message', (message) => {
  if (message === 'settle' || message === 'stop') settle.abort();
  if (message === 'stop') stop.abort();
});
if (killPlan.kind === 'at') setTimeout(() => void killOverdue(), killPlan.latest).unref();
process.send?.('ready');

const pressing = Promise.all([pressUntilStopped(0), pressUntilStopped(1)]);
await Promise.all([
  pressing.then(() => log({ event: 'settled' })),
  sweepUntilStopped(),
  reviewUntilStopped(),
]);
await payments.close();
await opened.close();
process.exit(0);

async function sweepUntilStopped(): Promise<void> {
  while (!stop.signal.aborted) {
    await orderPayments.sweep({ budget: 5_000 }).catch(logFailure);
    await sleep(100);
  }
}

async function reviewUntilStopped(): Promise<void> {
  while (!stop.signal.aborted) {
    await reviewAll({ payments, journal, baseUrl: settings.baseUrl, log }).catch(logFailure);
    await sleep(200);
  }
}

/** On a machine that is busy, the lease of a claim can expire before its request. Then nothing is sent. */
function logFailure(error: unknown): void {
  if (!(error instanceof JournalError)) log({ event: 'failed', message: String(error) });
}

/** Customers who press again and again, change their mind, and come back. */
async function pressUntilStopped(customer: number): Promise<void> {
  for (let press = 0; !settle.signal.aborted; press++) {
    const at = (what: string) => seededRandom(seed, what, generation, customer, press);
    const order = `order-${Math.floor(at('order') * settings.orders)}`;
    const startAnother = at('another') < 0.1;
    const amount = at('amount') < 0.05 ? 30 : 25.5;
    const input = { amount, customer_email: 'ama@example.com' };
    const phone = at('phone') < 0.2 ? '055 000 1111' : '024 412 3456';
    const extraBody = { order, pressedAt: Date.now(), startAnother };
    const charge = { ...input, phone, network: 'mtn' } as const;
    const pressOnce = async () => {
      if (isControl) {
        const idempotencyKey = `${order}-${Date.now()}`;
        await payments.chargeMobileMoney(charge, { idempotencyKey, extraBody });
        return;
      }
      const options = { startAnother, extraBody };
      const status = await (at('method') < 0.3
        ? orderPayments.checkout(order, input, options)
        : orderPayments.charge(order, charge, options));
      if (status.state === 'paid') log({ event: 'paid', order, key: status.payment.key });
      else if (at('wait') < 0.1) await orderPayments.wait(order, { timeout: 500 });
    };
    await pressOnce().catch(logFailure);
    killSwitch.reach('press done');
    await sleep(at('pause') * 60);
  }
}
