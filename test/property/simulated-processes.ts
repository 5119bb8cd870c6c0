import { JournalError, PaymentsClient, PaymentsError } from '../../src/index.ts';
import { createJournal, type JournalStore, type Resolution } from '../../src/stores/index.ts';
import { sharedStore, stateOf } from '../helpers/journals.ts';
import { note } from '../helpers/resolution-note.ts';
import { charge, successBodies } from '../helpers/service.ts';
import type { Command, ServiceResponse, StoreFault } from './interleavings.ts';

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

/** Of the journals. */
const LEASE = 10_000;

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
  const shared = sharedStore(LEASE);
  const faults = new Set<StoreFault>();
  const returned: { state: { readonly dead: boolean }; key: string; reference: string }[] = [];
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
      journal: createJournal(killAtStep(failSteps(shared.store, call.faults, faults), call, die), {
        lease: LEASE,
      }),
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
          returned.push({ state, key: call.key, reference });
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

  /** What a caller got is recorded, unless its process died: as the charge of the key, or as another one that the service made under it. */
  const findForgotten = async (key: string) => {
    const named: (string | undefined)[] = [];
    for (let number = 1; ; number++) {
      const entry = await shared.journal().read(number === 1 ? key : `${key}/${number}`);
      if (!entry) break;
      named.push(entry.reference, ...entry.resolutions.map(({ resolution }) => Object(resolution).reference));
    }
    return returned.flatMap(({ state, key: own, reference }) =>
      own === key && !state.dead && !named.includes(reference)
        ? [`${key} got ${reference}, which is not recorded`]
        : [],
    );
  };

  const judge = async () => {
    const keys = ['order-1', 'order-2'];
    const free = await Promise.all([...keys.map(findFreedCharge), ...keys.map(findForgotten)]);
    const endless = calls.filter(({ ended, dead }) => !ended && !dead).map(({ call }) => ({ endless: call }));
    return [...violations, ...keys.flatMap(findDoubleSend), ...free.flat(), ...endless];
  };

  return { startCall, resolve, judge, sent, freed, faults };
}

/** A store whose process is killed at one of its steps. No later step runs. */
function killAtStep(store: JournalStore, { death }: Call, die: () => void): JournalStore {
  let alive = true;
  const kill = () => {
    alive = false;
    die();
  };
  // Nothing is left to wait for: the journal tries no step again after this error.
  const assertAlive = () => {
    if (!alive) throw new JournalError('Killed.', { outcome: 'unknown' });
  };
  return {
    async read(key) {
      assertAlive();
      return await store.read(key);
    },
    async write(key, change) {
      const state = stateOf(change.text);
      const step = state === undefined ? undefined : state === 'begun' ? 'claim' : 'complete';
      const dies = death !== null && death.step === step;
      if (dies && death.side === 'before') kill();
      assertAlive();
      const written = await store.write(key, change);
      if (dies) kill();
      assertAlive();
      return written;
    },
  };
}

/** A database that fails at some steps. */
function failSteps(store: JournalStore, planned: Call['faults'], occurred: Set<StoreFault>): JournalStore {
  const remaining = [...planned];
  const step = async <T>(work: () => Promise<T>, conflict: T | undefined): Promise<T> => {
    const now = remaining.shift() ?? 'none';
    if (now === 'conflicts' && conflict === undefined) return await work();
    occurred.add(now);
    if (now === 'conflicts' && conflict !== undefined) return conflict;
    if (now === 'before') throw fault('ECONNRESET');
    if (now === 'hangs') return await never();
    if (now === 'late') await sleep(15_000);
    const result = await work();
    if (now === 'after') throw fault('ECONNRESET');
    return result;
  };
  return {
    read: (key) => step(() => store.read(key), undefined),
    write: (key, change) => step(() => store.write(key, change), false),
  };
}
