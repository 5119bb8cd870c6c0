import { vi } from 'vitest';
import { createControls, type PaymentControls } from '../../src/developers/mock/controls.ts';
import { PaymentService } from '../../src/developers/service/service.ts';
import { Webhooks } from '../../src/developers/service/webhooks.ts';
import {
  createFollowUps,
  type FollowUpEvent,
  type FollowUps,
  type FollowUpsOptions,
  type SweepOptions,
  type SweepResult,
} from '../../src/follow-ups/index.ts';
import { digestService } from '../../src/idempotency/fingerprint.ts';
import { PaymentsClient, type PaymentsClientOptions, type PaymentsEvent } from '../../src/index.ts';
import { type Journal, type JournalStore, memoryJournal, memoryStore } from '../../src/stores/index.ts';
import { pass, passStep } from './fake-timers.ts';
import { limitPatience } from './patience.ts';
import { createResetError } from './scripted-service.ts';
import { API_KEY, catchError, charge } from './service.ts';

/** Takes what is written with `console.error` without a logger. */
export const silentLogger = { debug() {}, info() {}, warn() {}, error() {} };

const BASE_URL = 'https://payments.example/api/v1';

/** A process that follows payments: a client and a journal of its own, over the shop's records. */
interface FollowUpProcess extends FollowUps {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
}

/** A call of a handler, and when it began, in milliseconds since the shop was opened. */
type HandlerCall<T> = T & { at: number };

/** A shop whose payments are followed, and the service that it uses. */
export interface FollowedShop {
  /** Its records, unless `openJournal` was given. */
  readonly store: JournalStore;
  readonly service: PaymentControls;
  /** When each GET arrived, in milliseconds since the shop was opened. */
  readonly gets: { at: number; reference: string }[];
  readonly finals: HandlerCall<{ key: string; reference: string; status: string; email: string | null }>[];
  readonly attentions: HandlerCall<{ key: string; reference?: string; reason: string }>[];
  readonly events: PaymentsEvent[];
  openJournal(): Journal;
  /** Starts a process. Handlers that are not given record their calls. Without `journal`, it opens one of its own. */
  start(
    options?: Partial<FollowUpsOptions>,
    client?: PaymentsClientOptions,
    journal?: Journal,
  ): FollowUpProcess;
  /** Charges under a key, and returns the reference. */
  charge(key: string, client?: PaymentsClientOptions): Promise<string>;
}

/** How long the service takes to respond, and what it responds instead. */
interface ShopOptions {
  store?: JournalStore;
  openJournal?: () => Journal;
  /** Runs before the service handles a request. What it returns is the response; what it throws breaks the connection. */
  intercept?: (request: Request) => Promise<Response | undefined>;
}

/** Opens a shop. Without `openJournal`, its records are in memory. */
export function openShop({
  store = memoryStore(),
  openJournal = () => memoryJournal({ store }),
  intercept,
}: ShopOptions = {}): FollowedShop {
  const apiKeys = [API_KEY];
  const service = new PaymentService({
    baseUrl: BASE_URL,
    apiKeys,
    allowTestCharges: true,
    checkoutBase: 'https://payments.example',
  });
  const openedAt = Date.now();
  const elapsed = () => Date.now() - openedAt;
  const gets: FollowedShop['gets'] = [];
  const finals: FollowedShop['finals'] = [];
  const attentions: FollowedShop['attentions'] = [];
  const events: PaymentsEvent[] = [];

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const reference = decodeURIComponent(request.url.slice(request.url.lastIndexOf('/') + 1));
    if (request.method === 'GET') gets.push({ at: elapsed(), reference });
    const response = (await intercept?.(request)) ?? (await service.handle(request));
    if (response.type === 'error') throw createResetError();
    return response;
  };
  const connect = (journal: Journal, options: PaymentsClientOptions = {}) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl: BASE_URL, maxRetries: 0, fetch, journal, ...options });

  return {
    store,
    service: createControls(service, new Webhooks({ sender: 'mock', clock: service.clock })),
    gets,
    finals,
    attentions,
    events,
    openJournal,
    start(options, client, journal = openJournal()) {
      const payments = connect(journal, {
        onEvent: (event) => events.push(event),
        logger: silentLogger,
        ...client,
      });
      const followUps = createFollowUps({
        payments,
        journal,
        onFinal: ({ key, reference, transaction: { status, customer_email: email } }) =>
          finals.push({ key, reference, status, email, at: elapsed() }),
        onAttention: (attention) => attentions.push({ ...attention, at: elapsed() }),
        ...options,
      });
      return { ...followUps, payments, journal };
    },
    async charge(key, client) {
      return (await connect(openJournal(), client).chargeMobileMoney(charge, { idempotencyKey: key }))
        .reference;
    },
  };
}

/** Lets time pass on the fake clock until a promise settles. */
export async function finish<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  const assertPatience = limitPatience('a promise that settles');
  await pass(5);
  while (!isSettled) {
    assertPatience();
    await passStep(5);
  }
  return promise;
}

/**
 * Sweeps whenever a payment is due, for so many milliseconds of the fake clock, or until nothing will be due. Heartbeats
 * need a `step` that is shorter than they are.
 */
export async function sweepFor(
  time: number,
  followUps: FollowUps,
  { step = Number.POSITIVE_INFINITY, ...options }: SweepOptions & { step?: number } = {},
): Promise<SweepResult[]> {
  const end = Date.now() + time;
  const results: SweepResult[] = [];
  for (;;) {
    const result = await finish(followUps.sweep(options));
    results.push(result);
    const { nextAt } = result;
    if (nextAt === null || nextAt > end) break;
    const wait = Math.max(0, nextAt - Date.now());
    await pass(wait, Math.max(1, Math.min(step, wait)));
  }
  const rest = Math.max(0, end - Date.now());
  await pass(rest, Math.max(1, Math.min(step, rest)));
  return results;
}

/** Returns the events of follow-ups, in order. */
export const findFollowUpEvents = (events: readonly PaymentsEvent[]): FollowUpEvent[] =>
  events.filter((event) => event.type === 'follow_up');

/** Returns the times of the GETs, in milliseconds since the shop was opened. */
export const getTimes = ({ gets }: FollowedShop) => gets.map(({ at }) => at);

/** Makes a charge whose response is lost, and returns its reference. The key is unresolved. */
export async function loseCharge(shop: FollowedShop, key: string): Promise<string> {
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await finish(catchError(shop.charge(key)));
  const made = shop.service.charges.at(-1);
  if (!made) throw new Error('no charge was made');
  return made.reference;
}

/** Returns the service and mode of the shop's clients, as its records name them. */
export const getService = (): Promise<string> => digestService(BASE_URL, 'test');

/** Changes the text of a record, as another program would. */
export async function changeText(
  store: JournalStore,
  key: string,
  change: (text: string) => string,
): Promise<void> {
  const { record, now } = await store.read(key);
  if (!record) throw new Error(`${key} has no record`);
  const text = change(record.text);
  if (text === record.text) throw new Error(`${key} was not changed`);
  const index = {
    kind: 'key',
    createdAt: Math.round(now),
    attentionAt: null,
    dueAt: Math.round(now),
  } as const;
  await store.write(key, { expected: record.version, version: 'changed', text, mustCommit: false, index });
}

/** Returns a store with a clock of its own. */
export function keepTime(store: JournalStore, getNow: () => number): JournalStore {
  const atStore = <A extends unknown[], T>(step: (...args: A) => Promise<T>) => {
    return async (...args: A) => {
      const processNow = Date.now();
      vi.setSystemTime(getNow());
      // A step of this store takes its time before it first waits.
      const done = step(...args);
      vi.setSystemTime(processNow);
      return await done;
    };
  };
  const { read, write, claimDue, countDue } = store;
  if (!claimDue || !countDue) throw new Error('the store has no follow-ups');
  return {
    read: atStore(read),
    write: atStore(write),
    claimDue: atStore(claimDue),
    countDue: atStore(countDue),
  };
}
