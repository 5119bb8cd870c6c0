// A process of a shop, started by harness.ts: it charges, checks, calls handlers and resolves, until it is stopped or killed.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { IdempotencyConflictError, JournalError, PaymentsClient, PaymentsError } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import type { AttentionItem, Resolution } from '../../../src/stores/index.ts';
import { note } from '../../helpers/resolution-note.ts';
import { KillSwitch, openJournal, watchStore } from './journal.ts';
import { openLog, type ShopEvent } from './log.ts';
import {
  API_KEY,
  createPageUrl,
  DEADLINE,
  EMAIL,
  MAX_LIFE,
  PHONE,
  seededRandom,
  settingsSchema,
  TIMEOUT,
} from './plan.ts';

/** After so long a request has arrived at the service, if it was sent at all, in milliseconds. */
const ARRIVED_AFTER = TIMEOUT + 2_000;
/** After so long a handler has heard of a reason, in milliseconds. */
const HEARD_AFTER = 6_000;
const foundSchema = z.object({ reference: z.nullable(z.string()) });

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, slot, generation, killPlan, baseUrl } = settings;
process.on('disconnect', () => process.exit(1));

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
  polling: { initialDelay: 200, minDelay: 200, maxDelay: 800, timeout: DEADLINE, maxRequestsPerSecond: 400 },
  headers: { 'x-generation': String(generation) },
  fetch: (input, init) => killSwitch.during('request sent', () => fetch(input, init)),
  onEvent: ({ type }) => {
    if (type === 'request') killSwitch.reach('before request');
    if (type === 'response') killSwitch.reach('response read');
  },
});

/** Some handlers take their time, and some throw. */
async function handle(event: Extract<ShopEvent, { key: string; name: string }>): Promise<void> {
  const { key, what } = event;
  const at = seededRandom(seed, key, what, generation);
  killSwitch.reach('handler called');
  log(event);
  killSwitch.reach('handler logged');
  await sleep(at * 20);
  if (at < 0.05) {
    log({ event: 'threw', key, what });
    throw new Error('The database of the shop is down.');
  }
  killSwitch.reach('handler done');
}

const followUps = createFollowUps({
  payments,
  journal,
  onFinal: ({ key, reference, transaction: { status } }) =>
    handle({ event: 'onFinal', name: key, key, reference, what: status }),
  onAttention: ({ key, reason }) => handle({ event: 'onAttention', name: key, key, what: reason }),
});
const orderPayments = createOrderPayments({
  payments,
  journal,
  onPaid: ({ order, payment: { key }, transaction: { reference } }) =>
    handle({ event: 'onPaid', name: order, key, reference, what: 'success' }),
  onUnpaid: ({ order, payment: { key } }) => handle({ event: 'onUnpaid', name: order, key, what: 'unpaid' }),
  onAttention: ({ order, key, reason }) => handle({ event: 'onAttention', name: order, key, what: reason }),
});

// A process that is killed writes no compile cache, so it is written now for the next one.
flushCompileCache();
const commands = z.union([z.enum(['settle', 'stop']), z.object({ notify: z.string() })]);
process.on('message', (message) => {
  const command = commands.parse(message);
  if (typeof command === 'object') {
    log({ event: 'notified', reference: command.notify });
    void followUps.notify(command.notify);
    void orderPayments.notify(command.notify);
    return;
  }
  settle.abort();
  if (command === 'stop') stop.abort();
});
if (killPlan.kind === 'at')
  setTimeout(() => {
    process.send?.('overdue', () => process.kill(process.pid, 'SIGKILL'));
  }, MAX_LIFE).unref();
process.send?.('ready');

const calling = Promise.all([0, 1, 2, 3].map(callUntilSettled)).then(() => log({ event: 'settled' }));
await Promise.all([calling, sweepUntilStopped(), repeat(reviewAll, 200)]);
await payments.close();
await close();
process.exit(0);

/** On a machine that is busy, the lease of a claim can expire before its request. Then nothing is sent. */
function logFailure(error: unknown): void {
  if (!stop.signal.aborted && !(error instanceof JournalError))
    log({ event: 'failed', message: String(error) });
}

async function repeat(work: () => Promise<unknown>, pause: number): Promise<void> {
  while (!stop.signal.aborted) {
    await work().catch(logFailure);
    await sleep(pause);
  }
}

/** As in a long-lived process, or as from cron. */
async function sweepUntilStopped(): Promise<void> {
  const both = [followUps, orderPayments];
  if (slot % 2 === 0) await Promise.all(both.map(({ run }) => run({ signal: stop.signal })));
  else await repeat(() => Promise.all(both.map(({ sweep }) => sweep({ budget: 5_000 }))), 100);
}

/** Customers who press again and again, change their mind, and come back; and a queue that runs a step again. */
async function callUntilSettled(customer: number): Promise<void> {
  for (let count = 0; !settle.signal.aborted; count++) {
    const at = (what: string) => seededRandom(seed, what, generation, customer, count);
    // Those of the processes before this one, and of those that run beside it.
    const index = Math.floor((generation + at('index') * 3) * 2);
    const call = `${generation}/${customer}/${count}`;
    await (customer % 2 === 0 ? callKey(`key-${index}`, call, at) : press(`order-${index}`, call, at)).catch(
      logFailure,
    );
    killSwitch.reach('call ended');
    await sleep(at('pause') * 60);
  }
}

type Random = (what: string) => number;

async function callKey(name: string, call: string, at: Random): Promise<void> {
  const isMistaken = at('mistake') < 0.08;
  const input = {
    amount: isMistaken ? 30 : 25.5,
    customer_email: EMAIL,
    phone: PHONE,
    network: 'mtn',
  } as const;
  const options = { idempotencyKey: name, headers: { 'x-call': call }, extraBody: { name } };
  const charged = await payments.chargeMobileMoney(input, options).then(
    ({ reference, replayed }) => ({ result: replayed ? 'replayed' : 'made', reference }),
    (error: unknown) => {
      if (!(error instanceof PaymentsError) || error.outcome === null) throw error;
      return { result: error instanceof IdempotencyConflictError ? 'conflict' : error.outcome };
    },
  );
  log({ event: 'called', name, call, ...charged });
}

async function press(name: string, call: string, at: Random): Promise<void> {
  const startAnother = at('another') < 0.1;
  const input = { amount: at('amount') < 0.05 ? 30 : 25.5, customer_email: EMAIL };
  const phone = at('phone') < 0.2 ? '055 000 1111' : PHONE;
  const extraBody = { name, pressedAt: Date.now(), startAnother };
  const options = { startAnother, extraBody, headers: { 'x-call': call } };
  const status = await (at('method') < 0.3
    ? orderPayments.checkout(name, input, options)
    : orderPayments.charge(name, { ...input, phone, network: 'mtn' }, options));
  const { key, reference } = status.state === 'paid' ? status.payment : {};
  log({ event: 'called', name, call, result: status.state, key, reference });
  if (status.state === 'processing' && at('wait') < 0.1) await orderPayments.wait(name, { timeout: 500 });
}

/** Plays the people who look at what needs one. Those of the other processes decide at the same time. */
async function reviewAll(): Promise<void> {
  for await (const item of journal.listAttention()) {
    const resolution = await decide(item);
    if (resolution === undefined) continue;
    try {
      await payments.resolve(item.key, resolution, note);
      log({ event: 'resolved', key: item.key, what: `${item.reason} ${JSON.stringify(resolution)}` });
    } catch (error) {
      // It was resolved, checked or charged meanwhile.
      if (!(error instanceof JournalError)) throw error;
    }
  }
}

async function decide(item: AttentionItem): Promise<Resolution | undefined> {
  const { key, order, reason, since, network, requestIds } = item;
  const age = Date.now() - since;
  if (reason === 'price_changed' && isOdd(key)) return 'accepted';
  if (reason === 'paid_twice' && isOdd(key) && age > HEARD_AFTER) return 'closed';
  // Every second key is left as it is.
  if (reason !== 'unresolved' || age < ARRIVED_AFTER || (order === undefined && isOdd(key))) return undefined;
  const url = new URL('/found', baseUrl);
  for (const id of requestIds) url.searchParams.append('id', id);
  const { reference } = foundSchema.parse(await (await fetch(url)).json());
  if (reference === null) return 'not_charged';
  return network === undefined ? { reference, checkout_url: createPageUrl(reference) } : { reference };
}

function isOdd(key: string): boolean {
  return /[13579]$/.test(key.split('/')[0] ?? '');
}
