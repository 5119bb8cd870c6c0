// A merchant's worker, run by harness.ts: it charges orders until it has noted an end for each, unless it is killed.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CreateOptions,
  IdempotencyConflictError,
  PaymentsClient,
  type PaymentsClientOptions,
  PaymentsError,
} from '../../../src/index.ts';
import { Fate } from './fate.ts';
import { openJournal } from './journals.ts';
import { raced } from './kinds.ts';
import { type Note, noteWriter, readNotes } from './notes.ts';
import { inputOf, isMistaken, type Order, orderAt, slotsOf } from './orders.ts';
import { settingsSchema } from './settings.ts';

/**
 * How often an order is tried, by how the last try ended. A key in doubt is asked for again too: only the journal stands
 * between that and a second charge. Without a journal a job queue just runs the step again.
 */
const TRIES = { completed: 1, conflict: 1, rejected: 3, unknown: 2, not_sent: 20, failed: 3 };
const TRIES_WITH_PERSON = { ...TRIES, unknown: 8 };

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, kind, slot, generation, folder, keys, workers, lease, person } = settings;
/**
 * One that is held up has nothing else under way: a request that was just handed to a socket would leave when it goes on,
 * which no client can take back (docs/order-workflows.md).
 */
const AT_ONCE = settings.doom.manner === 'held up' ? 1 : 6;
process.on('disconnect', () => process.exit(1));

const fate = new Fate(settings.doom);
const note = noteWriter(folder, generation);
const opened =
  kind === 'none'
    ? undefined
    : await openJournal(kind, settings.place, {
        lease,
        other: slot % 2 === 1,
        aroundCommit: fate.aroundCommit,
      });
const waiting = new Set<string>();
let calls = 0;

// A process that is killed would leave nothing of it to the next one.
flushCompileCache();
process.send?.('ready');
let orders = remaining();
for (let round = 1; orders.length > 0; round++) {
  orders = await tryAll(orders, round);
  await sleep(person ? lease : 20);
}
await opened?.close();
process.exit(0);

/** First what the process before this one was about, then where the others are now, then what is left over. */
function remaining(): Order[] {
  const notes = readNotes(folder);
  const own = notes.filter((noted) => noted.slot === slot);
  const done = new Set(own.filter(({ last }) => last).map(({ index }) => index));
  const reached = Math.max(-1, ...own.map(({ index }) => index));
  const frontier = Math.max(-1, ...notes.map(({ index }) => index));
  const orders = Array.from({ length: keys }, (_, index) => orderAt(index)).filter(
    (order) => slotsOf(order, workers, raced(kind)).includes(slot) && !done.has(order.index),
  );
  const near = ({ index }: Order) => index <= reached + 2 * AT_ONCE * workers;
  const ahead = ({ index }: Order) => index >= frontier;
  return [
    ...orders.filter(near),
    ...orders.filter((order) => !near(order) && ahead(order)),
    ...orders.filter((order) => !near(order) && !ahead(order)),
  ];
}

/** Tries each order once; gives back those that have to be tried again. */
async function tryAll(orders: readonly Order[], round: number): Promise<Order[]> {
  const queue = orders.values();
  const left: Order[] = [];
  const work = async () => {
    for (const order of queue) if (!(await settles(order, round))) left.push(order);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return left;
}

async function settles(order: Order, round: number): Promise<boolean> {
  const call = `${generation}-${++calls}`;
  const ended = await endOf(order, call);
  const last = round >= (person ? TRIES_WITH_PERSON : TRIES)[ended.ending];
  note({ index: order.index, slot, call, ...ended, waited: waiting.delete(call), last });
  await fate.noted();
  return last;
}

async function endOf(order: Order, call: string): Promise<Pick<Note, 'ending' | 'reference' | 'amount'>> {
  const wrongly = isMistaken(seed, order, slotsOf(order, workers, raced(kind)), slot);
  const options: CreateOptions = {
    extraBody: { order: order.key },
    ...(opened ? { idempotencyKey: order.key } : {}),
  };
  try {
    const { reference, amount } = await clientFor(call).chargeMobileMoney(inputOf(order, wrongly), options);
    return { ending: 'completed', reference, amount };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    if (!opened) return { ending: 'failed' };
    if (error instanceof IdempotencyConflictError) return { ending: 'conflict' };
    if (error.outcome === null) throw error;
    return { ending: error.outcome };
  }
}

/** One client for each call, so that its events can be laid at its door. */
function clientFor(call: string): PaymentsClient {
  const options: PaymentsClientOptions = {
    apiKey: 'sk_test_crashproof',
    baseUrl: settings.baseUrl,
    timeout: settings.timeout,
    maxRetries: 1,
    headers: { 'x-call': call, 'x-generation': String(generation) },
    fetch: fate.fetch,
    onEvent: (event) => {
      if (event.type === 'journal' && event.result === 'waiting') waiting.add(call);
      fate.onEvent(event);
    },
  };
  return new PaymentsClient(opened ? { ...options, journal: fate.around(opened.journal) } : options);
}
