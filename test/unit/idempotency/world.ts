import { PaymentsClient, PaymentsError } from '../../../src/index.ts';
import {
  createJournal,
  type Journal,
  type JournalStore,
  type Resolution,
} from '../../../src/journal/index.ts';
import { answers, charge } from '../../helpers/service.ts';
import type { Answer, Command } from '../../property/interleavings.ts';
import { sharedStore } from './journals.ts';

type Call = Command & { does: 'call' };

/** One request, as the service and the wire know it, in the order in which they left. */
interface Sent {
  order: number;
  key: string;
  reference: string;
  made: boolean;
  /** It was answered in a way that proves that there is no charge. */
  refused: boolean;
}

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));
const never = () => new Promise<never>(() => {});
const fault = (code: string) => Object.assign(new Error('down'), { code });

/** It names host and port of the service, or it would prove nothing of a fetch that is not the runtime's. */
const refused = Object.assign(fault('ECONNREFUSED'), { hostname: 'payments.example', port: 443 });

/** What is heard of a request once its answer is due. */
const said: Record<Answer, (reference: string) => Response | Promise<Response>> = {
  made: (reference) => Response.json(answers.chargeMobileMoney({ reference })),
  'made, answer lost': () => Promise.reject(new TypeError('fetch failed', { cause: fault('ECONNRESET') })),
  'made, 500': () => Response.json({}, { status: 500 }),
  'made, another amount': (reference) =>
    Response.json(answers.chargeMobileMoney({ reference, amount: '2.55' })),
  'made, never answered': never,
  refused: () => Response.json({}, { status: 422 }),
  'rate limited': () => Response.json({}, { status: 429 }),
  'no connection': () => Promise.reject(new TypeError('fetch failed', { cause: refused })),
};

/** Two keys, a database, a service and a person, and everything that goes wrong between processes that charge. */
export function world() {
  const shared = sharedStore();
  const sent: Sent[] = [];
  const freed: { order: number; key: string }[] = [];
  const claimed = new Set<string>();
  const wrongs: string[] = [];
  const calls: { call: Call; ended: boolean; dead: boolean }[] = [];
  let order = 0;

  const fetchFor = (call: Call, mine: Sent[]) => async () => {
    const { key, answer, latency } = call;
    const reference = `TXN-${sent.length + 1}`;
    const request: Sent = { order: ++order, key, reference, made: false, refused: false };
    sent.push(request);
    mine.push(request);
    await sleep(latency);
    request.made = answer.startsWith('made');
    request.refused = !request.made;
    if (answer !== 'no connection') await sleep(latency);
    return said[answer](reference);
  };

  const begin = (call: Call) => {
    const state = { call, ended: false, dead: false };
    calls.push(state);
    const mine: Sent[] = [];
    const die = () => {
      state.dead = true;
    };
    const client = new PaymentsClient({
      apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
      baseUrl: 'https://payments.example/api/v1',
      journal: mortal(createJournal(faulty(shared.store, call.faults)), call, die),
      fetch: fetchFor(call, mine),
      maxRetries: 1,
      timeout: 20_000,
    });
    const abort = new AbortController();
    if (call.abortAfter !== null) setTimeout(() => abort.abort(), call.abortAfter);
    client
      .chargeMobileMoney(charge, { idempotencyKey: call.key, signal: abort.signal })
      .then(
        ({ reference, amount }) => {
          const made = sent.find((request) => request.reference === reference);
          if (state.dead) return;
          if (!(made?.made && made.key === call.key) && !claimed.has(reference))
            wrongs.push(`${call.key} got ${reference}, which nobody made`);
          if (amount !== '25.50') wrongs.push(`${call.key} got a result of ${amount}`);
        },
        (error: unknown) => {
          const proven = error instanceof PaymentsError ? error.outcome !== 'unknown' : true;
          if (!state.dead && proven && mine.some(({ made, refused }) => made || !refused))
            wrongs.push(`${call.key} was said not to be charged: ${String(error)}`);
        },
      )
      .finally(() => {
        state.ended = true;
      });
  };

  const resolve = async ({ key, says }: Command & { does: 'resolve' }) => {
    const found = sent.findLast((request) => request.key === key && request.made);
    const truth: Resolution = found ? { reference: found.reference } : 'not_charged';
    const other: Resolution = says === 'not_charged' ? says : { reference: says };
    const said = says === 'truth' ? truth : other;
    // It is refused while the key is in progress, or where the record says otherwise.
    const settled = await shared
      .journal()
      .resolve(key, said)
      .then(
        () => true,
        () => false,
      );
    if (!settled) return;
    if (said === 'not_charged') freed.push({ order: ++order, key });
    else claimed.add(said.reference);
  };

  const freedBetween = (key: string, from: number, to: number) =>
    freed.some((free) => free.key === key && free.order > from && free.order < to);

  /** Each request but the last of a key was refused, or a person said later that it had made no charge. */
  const sentTwice = (key: string) => {
    const own = sent.filter((request) => request.key === key);
    return own.flatMap((next, index) => {
      const before = own[index - 1];
      if (!before || before.refused || freedBetween(key, before.order, next.order)) return [];
      return [`${key} was sent as ${next.reference} after ${before.reference}`];
    });
  };

  const wronglyFree = async (key: string) => {
    const made = sent.some((request) => request.key === key && request.made);
    if (!made || freedBetween(key, 0, Number.POSITIVE_INFINITY)) return [];
    const state = (await shared.journal().read(key))?.state ?? 'new';
    return ['new', 'not_sent', 'rejected'].includes(state) ? [`${key} was charged and is ${state}`] : [];
  };

  const judge = async () => {
    const keys = ['order-1', 'order-2'];
    const free = await Promise.all(keys.map(wronglyFree));
    const endless = calls.filter(({ ended, dead }) => !ended && !dead).map(({ call }) => ({ endless: call }));
    return [...wrongs, ...keys.flatMap(sentTwice), ...free.flat(), ...endless];
  };

  return { begin, resolve, judge, sent, freed };
}

/** A journal of a process that is killed at one of its steps: nothing of it goes on after that. */
function mortal(journal: Journal, { death }: Call, die: () => void): Journal {
  let alive = true;
  const step =
    <Args extends unknown[], T>(name: string, work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const dies = death?.step === name;
      if (dies && death.side === 'before') {
        alive = false;
        die();
      }
      if (!alive) return never();
      const result = await work(...args);
      if (dies) {
        alive = false;
        die();
      }
      return alive ? result : never();
    };
  return {
    ...journal,
    claim: step('claim', journal.claim),
    renew: step('renew', journal.renew),
    complete: step('complete', journal.complete),
    read: step('read', journal.read),
  };
}

/** A database that fails in some steps, before or after it has done what was asked. */
function faulty(store: JournalStore, faults: Call['faults']): JournalStore {
  const left = [...faults];
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = left.shift();
    if (now === 'before') throw fault('ECONNRESET');
    const result = await work();
    if (now === 'after') throw fault('ECONNRESET');
    return result;
  };
  return {
    read: (key) => step(() => store.read(key)),
    write: (key, change) => step(() => store.write(key, change)),
  };
}
