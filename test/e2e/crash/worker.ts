// A merchant's worker, started by harness.ts. It charges its orders until each has a last result, unless it is killed.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CreateOptions,
  IdempotencyConflictError,
  PaymentsClient,
  type PaymentsClientOptions,
  PaymentsError,
} from '../../../src/index.ts';
import { API_KEY } from './api-key.ts';
import { type LoggedCall, openCallLog, readCallLog } from './call-log.ts';
import { ChargeKillSwitch } from './charge-kill-switch.ts';
import { isRaced } from './journal-kinds.ts';
import { openJournal } from './journals.ts';
import { watchCommits } from './kill-switch.ts';
import { assignSlots, createInput, createOrder, isMistaken, type Order } from './orders.ts';
import { settingsSchema } from './settings.ts';

/**
 * How often an order is called, by the result of its last call. An unresolved key is called again too: only the journal
 * prevents a second charge. Without a journal this is a job queue that runs a step again.
 */
const MAX_CALLS = { completed: 1, conflict: 1, rejected: 3, unknown: 2, not_sent: 20, failed: 3 };
const MAX_CALLS_WITH_REVIEWER = { ...MAX_CALLS, unknown: 8 };

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, kind, slot, generation, folder, keys, workers, lease, hasReviewer } = settings;
/**
 * Calls at the same time. A worker that is to be paused makes one: a second request might be in a socket's buffer, and
 * would leave after the pause. No client can prevent that (docs/guides/prevent-double-charges.md).
 */
const CONCURRENCY = settings.killPlan.kind === 'paused' ? 1 : 6;
process.on('disconnect', () => process.exit(1));

const killSwitch = new ChargeKillSwitch(settings.killPlan);
const logCall = openCallLog(folder, generation);
const opened =
  kind === 'none'
    ? undefined
    : await openJournal(kind, settings.place, {
        lease,
        other: slot % 2 === 1,
        aroundCommit: watchCommits(killSwitch),
      });
const journal = opened && killSwitch.wrap(opened.journal);
const waiting = new Set<string>();
let calls = 0;

// A process that is killed writes no compile cache, so it is written now for the next one.
flushCompileCache();
process.send?.('ready');
let orders = listRemainingOrders();
for (let round = 1; orders.length > 0; round++) {
  orders = await callEach(orders, round);
  await sleep(hasReviewer ? lease : 20);
}
await opened?.close();
process.exit(0);

/**
 * Returns the orders without a last result. Those around the last call of the previous process come first, then those that
 * the other workers have reached.
 */
function listRemainingOrders(): Order[] {
  const calls = readCallLog(folder);
  const own = calls.filter((call) => call.slot === slot);
  const done = new Set(own.filter(({ isLast }) => isLast).map(({ index }) => index));
  const reached = Math.max(-1, ...own.map(({ index }) => index));
  const frontier = Math.max(-1, ...calls.map(({ index }) => index));
  const orders = Array.from({ length: keys }, (_, index) => createOrder(index)).filter(
    (order) => assignSlots(order, workers, isRaced(kind)).includes(slot) && !done.has(order.index),
  );
  const near = ({ index }: Order) => index <= reached + 2 * CONCURRENCY * workers;
  const ahead = ({ index }: Order) => index >= frontier;
  return [
    ...orders.filter(near),
    ...orders.filter((order) => !near(order) && ahead(order)),
    ...orders.filter((order) => !near(order) && !ahead(order)),
  ];
}

/** Calls each order once. Returns the orders to call again. */
async function callEach(orders: readonly Order[], round: number): Promise<Order[]> {
  const queue = orders.values();
  const remaining: Order[] = [];
  const work = async () => {
    for (const order of queue) if (!(await callOrder(order, round))) remaining.push(order);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return remaining;
}

/** Returns whether this was the last call of the order. */
async function callOrder(order: Order, round: number): Promise<boolean> {
  const call = `${generation}-${++calls}`;
  const charged = await charge(order, call);
  const isLast = round >= (hasReviewer ? MAX_CALLS_WITH_REVIEWER : MAX_CALLS)[charged.result];
  logCall({ index: order.index, slot, call, ...charged, hasWaited: waiting.delete(call), isLast });
  await killSwitch.countCall();
  return isLast;
}

async function charge(
  order: Order,
  call: string,
): Promise<Pick<LoggedCall, 'result' | 'reference' | 'amount'>> {
  const isWrong = isMistaken(seed, order, assignSlots(order, workers, isRaced(kind)), slot);
  const options: CreateOptions = {
    extraBody: { order: order.key },
    ...(journal ? { idempotencyKey: order.key } : {}),
  };
  try {
    const { reference, amount } = await createClient(call).chargeMobileMoney(
      createInput(order, isWrong),
      options,
    );
    return { result: 'completed', reference, amount };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    if (!journal) return { result: 'failed' };
    if (error instanceof IdempotencyConflictError) return { result: 'conflict' };
    if (error.outcome === null) throw error;
    return { result: error.outcome };
  }
}

/** Creates a client for one call, so that each event belongs to a call. */
function createClient(call: string): PaymentsClient {
  const options: PaymentsClientOptions = {
    apiKey: API_KEY,
    baseUrl: settings.baseUrl,
    timeout: settings.timeout,
    maxRetries: 1,
    headers: { 'x-call': call, 'x-generation': String(generation) },
    fetch: killSwitch.fetch,
    polling: settings.polling,
    onEvent: (event) => {
      if (event.type === 'journal' && event.result === 'waiting') waiting.add(call);
      killSwitch.onEvent(event);
    },
  };
  return new PaymentsClient(journal ? { ...options, journal } : options);
}
