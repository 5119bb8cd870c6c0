// A process of a shop, started by harness.ts: it charges, checks and calls handlers, until it is stopped or killed.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { IdempotencyConflictError, JournalError, PaymentsClient, PaymentsError } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { KillSwitch, openJournal, watchStore } from './journal.ts';
import { openLog, type ShopEvent } from './log.ts';
import { API_KEY, EMAIL, MAX_LIFE, PHONE, seededRandom, settingsSchema, TIMEOUT } from './plan.ts';

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, slot, generation, killPlan, baseUrl } = settings;
process.on('disconnect', () => process.exit(1));

const input = { amount: 25.5, customer_email: EMAIL, phone: PHONE, network: 'mtn' } as const;
const settle = new AbortController();
if (settings.isSettling) settle.abort();
const stop = new AbortController();
const killSwitch = new KillSwitch(killPlan);
const log = openLog(settings.folder, generation);
const { journal, close } = await openJournal(settings, (store) => watchStore(store, killSwitch, log));
const payments = new PaymentsClient({
  apiKey: API_KEY,
  baseUrl,
  timeout: TIMEOUT,
  maxRetries: 1,
  journal,
  polling: { initialDelay: 200, minDelay: 200, maxDelay: 800, maxRequestsPerSecond: 400 },
  headers: { 'x-generation': String(generation) },
  fetch: (input, init) => killSwitch.during('request sent', () => fetch(input, init)),
  onEvent: ({ type }) => {
    if (type === 'request') killSwitch.reach('before request');
    if (type === 'response') killSwitch.reach('response read');
  },
});

/** Some handlers take their time, and some throw. */
async function handle(event: Extract<ShopEvent, { key: string; name: string }>): Promise<void> {
  const at = seededRandom(seed, event.key, event.what, generation);
  killSwitch.reach('handler called');
  log(event);
  killSwitch.reach('handler logged');
  await sleep(at * 20);
  if (at < 0.05) {
    log({ event: 'threw' });
    throw new Error('The database of the shop is down.');
  }
  killSwitch.reach('handler done');
}

const followUps = createFollowUps({
  payments,
  journal,
  onFinal: ({ key, reference, transaction: { status } }) =>
    handle({ event: 'onFinal', name: key, key, reference, what: status }),
  onAttention: () => {},
});
const orderPayments = createOrderPayments({
  payments,
  journal,
  onPaid: ({ order, payment: { key }, transaction: { reference } }) =>
    handle({ event: 'onPaid', name: order, key, reference, what: 'success' }),
  onAttention: () => {},
});

// A process that is killed writes no compile cache, so it is written now for the next one.
flushCompileCache();
process.on('message', (command) => {
  settle.abort();
  if (command === 'stop') stop.abort();
});
if (killPlan.kind === 'at')
  setTimeout(() => {
    process.send?.('overdue', () => process.kill(process.pid, 'SIGKILL'));
  }, MAX_LIFE).unref();
process.send?.('ready');

const calling = Promise.all([0, 1, 2, 3].map(callUntilSettled)).then(() => log({ event: 'settled' }));
await Promise.all([calling, sweepUntilStopped()]);
await payments.close();
await close();
process.exit(0);

/** On a machine that is busy, the lease of a claim can expire before its request. Then nothing is sent. */
function logFailure(error: unknown): void {
  if (!stop.signal.aborted && !(error instanceof JournalError))
    log({ event: 'failed', message: String(error) });
}

/** As in a long-lived process, or as from cron. */
async function sweepUntilStopped(): Promise<void> {
  const both = [followUps, orderPayments];
  if (slot % 2 === 0) return void (await Promise.all(both.map(({ run }) => run({ signal: stop.signal }))));
  while (!stop.signal.aborted) {
    await Promise.all(both.map(({ sweep }) => sweep({ budget: 5_000 }))).catch(logFailure);
    await sleep(100);
  }
}

/** Customers who press again and again, and a queue that runs a step again. */
async function callUntilSettled(customer: number): Promise<void> {
  for (let count = 0; !settle.signal.aborted; count++) {
    const at = (what: string) => seededRandom(seed, what, generation, customer, count);
    // Those of the processes before this one, and of those that run beside it.
    const index = Math.floor((generation + at('index') * 3) * 2);
    const call = `${generation}/${customer}/${count}`;
    const calling = customer % 2 === 0 ? callKey(`key-${index}`, call, at) : press(`order-${index}`, call);
    await calling.catch(logFailure);
    killSwitch.reach('call ended');
    await sleep(at('pause') * 60);
  }
}

async function callKey(name: string, call: string, at: (what: string) => number): Promise<void> {
  const given = at('mistake') < 0.08 ? { ...input, amount: 30 } : input;
  const options = { idempotencyKey: name, headers: { 'x-call': call }, extraBody: { name } };
  const charged = await payments.chargeMobileMoney(given, options).then(
    ({ reference, replayed }) => ({ result: replayed ? 'replayed' : 'made', reference }),
    (error: unknown) => {
      if (!(error instanceof PaymentsError) || error.outcome === null) throw error;
      return { result: error instanceof IdempotencyConflictError ? 'conflict' : error.outcome };
    },
  );
  log({ event: 'called', name, call, ...charged });
}

async function press(name: string, call: string): Promise<void> {
  const { state } = await orderPayments.charge(name, input, {
    extraBody: { name },
    headers: { 'x-call': call },
  });
  log({ event: 'called', name, call, result: state });
}
