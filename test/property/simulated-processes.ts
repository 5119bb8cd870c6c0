import { PaymentsClient, PaymentsError } from '../../src/index.ts';
import { getJournalCore } from '../../src/journal/core.ts';
import { createJournal, type Journal, type JournalStore, type Resolution } from '../../src/journal/index.ts';
import { changed, sharedStore } from '../helpers/journals.ts';
import { note } from '../helpers/resolution-note.ts';
import { charge, successBodies } from '../helpers/service.ts';
import type { Command, ServiceResponse } from './interleavings.ts';

type Call = Command & { does: 'call' };

/** One request, as the service received it, in the order in which they were sent. */
interface Sent {
  order: number;
  key: string;
  reference: string;
  made: boolean;
  /** Whether it is proven that there is no charge. */
  rejected: boolean;
}

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));
const never = () => new Promise<never>(() => {});
const fault = (code: string) => Object.assign(new Error('down'), { code });

/** It names host and port of the service: otherwise it is no proof, since the fetch is not the runtime's. */
const connectionRefused = Object.assign(fault('ECONNREFUSED'), { hostname: 'payments.example', port: 443 });

/** What fetch returns for a request once its response is due. */
const responses: Record<ServiceResponse, (reference: string) => Response | Promise<Response>> = {
  made: (reference) => Response.json(successBodies.chargeMobileMoney({ reference })),
  'made, response lost': () => Promise.reject(new TypeError('fetch failed', { cause: fault('ECONNRESET') })),
  'made, 500': () => Response.json({}, { status: 500 }),
  'made, another amount': (reference) =>
    Response.json(successBodies.chargeMobileMoney({ reference, amount: '2.55' })),
  'made, no response': never,
  rejected: () => Response.json({}, { status: 422 }),
  'rate limited': () => Response.json({}, { status: 429 }),
  'no connection': () => Promise.reject(new TypeError('fetch failed', { cause: connectionRefused })),
};

/** Simulates processes that charge under two keys, with their database, the service and a person. */
export function simulateProcesses() {
  const shared = sharedStore();
  const sent: Sent[] = [];
  const freed: { order: number; key: string }[] = [];
  const found = new Set<string>();
  const violations: string[] = [];
  const calls: { call: Call; ended: boolean; dead: boolean }[] = [];
  let order = 0;

  const fetchFor = (call: Call, mine: Sent[]) => async () => {
    const { key, response, latency } = call;
    const reference = `TXN-${sent.length + 1}`;
    const request: Sent = { order: ++order, key, reference, made: false, rejected: false };
    sent.push(request);
    mine.push(request);
    await sleep(latency);
    request.made = response.startsWith('made');
    request.rejected = !request.made;
    if (response !== 'no connection') await sleep(latency);
    return responses[response](reference);
  };

  const startCall = (call: Call) => {
    const state = { call, ended: false, dead: false };
    calls.push(state);
    const mine: Sent[] = [];
    const die = () => {
      state.dead = true;
    };
    const client = new PaymentsClient({
      apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
      baseUrl: 'https://payments.example/api/v1',
      journal: killAtStep(createJournal(failSteps(shared.store, call.faults)), call, die),
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
          if (!(made?.made && made.key === call.key) && !found.has(reference))
            violations.push(`${call.key} got ${reference}, which the service never made`);
          if (amount !== '25.50') violations.push(`${call.key} got a result of ${amount}`);
        },
        (error: unknown) => {
          const proven = error instanceof PaymentsError ? error.outcome !== 'unknown' : true;
          if (!state.dead && proven && mine.some(({ made, rejected }) => made || !rejected))
            violations.push(`${call.key} failed as not charged: ${String(error)}`);
        },
      )
      .finally(() => {
        state.ended = true;
      });
  };

  const resolve = async ({ key, as }: Command & { does: 'resolve' }) => {
    const made = sent.findLast((request) => request.key === key && request.made);
    const truth: Resolution = made ? { reference: made.reference } : 'not_charged';
    const other: Resolution = as === 'not_charged' ? as : { reference: as };
    const resolution = as === 'truth' ? truth : other;
    // It is refused while the key is in progress, or if the record contradicts it.
    const isResolved = await shared
      .journal()
      .resolve(key, resolution, note)
      .then(
        () => true,
        () => false,
      );
    if (!isResolved) return;
    if (resolution === 'not_charged') freed.push({ order: ++order, key });
    else found.add(resolution.reference);
  };

  const freedBetween = (key: string, from: number, to: number) =>
    freed.some((free) => free.key === key && free.order > from && free.order < to);

  /** Each request of a key but the last was rejected, or a person resolved later that there was no charge. */
  const findDoubleSend = (key: string) => {
    const own = sent.filter((request) => request.key === key);
    return own.flatMap((next, index) => {
      const before = own[index - 1];
      if (!before || before.rejected || freedBetween(key, before.order, next.order)) return [];
      return [`${key} was sent as ${next.reference} after ${before.reference}`];
    });
  };

  const findFreedCharge = async (key: string) => {
    const made = sent.some((request) => request.key === key && request.made);
    if (!made || freedBetween(key, 0, Number.POSITIVE_INFINITY)) return [];
    const state = (await shared.journal().read(key))?.state ?? 'new';
    return ['new', 'not_sent', 'rejected'].includes(state) ? [`${key} was charged and is ${state}`] : [];
  };

  const judge = async () => {
    const keys = ['order-1', 'order-2'];
    const free = await Promise.all(keys.map(findFreedCharge));
    const endless = calls.filter(({ ended, dead }) => !ended && !dead).map(({ call }) => ({ endless: call }));
    return [...violations, ...keys.flatMap(findDoubleSend), ...free.flat(), ...endless];
  };

  return { startCall, resolve, judge, sent, freed };
}

/** Creates a journal whose process is killed at one of its steps. No later step runs. */
function killAtStep(journal: Journal, { death }: Call, die: () => void): Journal {
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
  return changed(journal, {
    claim: step('claim', getJournalCore(journal).claim),
    renew: step('renew', getJournalCore(journal).renew),
    complete: step('complete', getJournalCore(journal).complete),
    read: step('read', journal.read),
  });
}

/** A database that fails at some steps, before or after it has done them. */
function failSteps(store: JournalStore, faults: Call['faults']): JournalStore {
  const remaining = [...faults];
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = remaining.shift();
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
