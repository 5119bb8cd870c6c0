/** The world of a test: a clock, the service, a journal, and a shop that uses them. All of it is in memory. */

import { createControls, type PaymentControls } from '../../src/developers/mock/controls.ts';
import { PaymentService } from '../../src/developers/service/service.ts';
import { Webhooks } from '../../src/developers/service/webhooks.ts';
import {
  createFollowUps,
  type FinalPayment,
  type FollowUps,
  type FollowUpsOptions,
  type PaymentAttention,
  type SweepOptions,
  type SweepResult,
} from '../../src/follow-ups/index.ts';
import { PaymentsClient, type PaymentsClientOptions, type PaymentsEvent } from '../../src/index.ts';
import {
  createOrderPayments,
  type OrderAttention,
  type OrderPayments,
  type OrderPaymentsOptions,
  type OrderStatus,
  type PaidPayment,
  type UnpaidPayment,
} from '../../src/orders/index.ts';
import { createJournal, type Journal, type JournalStore, memoryStore } from '../../src/stores/index.ts';
import { type Clock, sleep, startClock } from './clock.ts';
import { createResetError } from './scripted-service.ts';
import { API_KEY, charge } from './service.ts';

export const BASE_URL = 'https://payments.example/api/v1';
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const momo = charge;
export const page = { amount: '25.50', customer_email: charge.customer_email } as const;

/** It proves that no connection was made, since it names host and port of the service. */
export const connectionRefused = new TypeError('fetch failed', {
  cause: Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    hostname: 'payments.example',
    port: 443,
  }),
});

/** Runs before the service handles a request. What it returns is the response; what it throws breaks the connection. */
export type Respond = (
  request: Request,
  handle: () => Promise<Response>,
) => Promise<Response | undefined> | Response | undefined;

/** Makes the service take so long before it handles a request of a method. */
export const slow =
  (method: 'GET' | 'POST', milliseconds: number): Respond =>
  async (request) => {
    if (request.method === method) await sleep(milliseconds);
    return undefined;
  };

/** What a process has of its own. Handlers that are not given record their calls. */
export interface ProcessOptions
  extends Partial<Pick<OrderPaymentsOptions, 'onPaid' | 'onUnpaid'>>,
    Partial<Pick<FollowUpsOptions, 'onFinal'>> {
  readonly onAttention?: ((attention: Attention) => unknown) | undefined;
  /** It makes no retries unless this says something else. */
  readonly client?: PaymentsClientOptions;
  /** Default: that of the world. */
  readonly store?: JournalStore;
  /** Default: one of its own on that store. */
  readonly journal?: Journal;
}

/** A process of the shop. `orders` and `followUps` are made when they are first used. */
export interface Process {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
  readonly orders: OrderPayments;
  readonly followUps: FollowUps;
}

/** As `orders` or `followUps` give it. */
type Attention = PaymentAttention & Partial<OrderAttention>;

type Timed<T> = T & { readonly at: number };

/** What happened, in order. Each `at` is in milliseconds since the world began. */
interface Recorded {
  /** The requests that were sent, such as `POST charge-mobile-money`. */
  readonly requests: string[];
  readonly posts: string[];
  readonly checks: Timed<{ reference: string }>[];
  readonly paid: PaidPayment[];
  readonly unpaid: UnpaidPayment[];
  readonly finals: Timed<FinalPayment & { status: string }>[];
  readonly attentions: Timed<Attention>[];
  readonly events: PaymentsEvent[];
}

/** All but `clock` is of this world: a test can have several on one clock. */
export interface World extends Recorded {
  readonly clock: Clock;
  readonly service: PaymentControls;
  readonly store: JournalStore;
  /** The first process, and its journal. */
  readonly shop: Process;
  readonly journal: Journal;
  /** Starts another process on the same records. */
  start(options?: ProcessOptions): Process;
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Makes the world of a test. When the test ends its processes are closed, and its clock stops. */
export function world({ respond, ...first }: ProcessOptions & { readonly respond?: Respond } = {}): World {
  const clock = startClock();
  const service = new PaymentService({
    baseUrl: BASE_URL,
    apiKeys: [API_KEY],
    allowTestCharges: true,
    checkoutBase: 'https://payments.example',
  });
  const { store = memoryStore() } = first;
  const recorded: Recorded = {
    requests: [],
    posts: [],
    checks: [],
    paid: [],
    unpaid: [],
    finals: [],
    attentions: [],
    events: [],
  };

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const name = decodeURIComponent(request.url.slice(request.url.lastIndexOf('/') + 1));
    const line = `${request.method} ${name}`;
    recorded.requests.push(line);
    if (request.method === 'GET') recorded.checks.push({ reference: name, at: clock.now });
    else recorded.posts.push(line);
    const handle = () => service.handle(request);
    const response = (await respond?.(request, handle)) ?? (await handle());
    if (response.type === 'error') throw createResetError();
    return response;
  };

  const start: World['start'] = ({ client, store: other = store, journal: own, ...handlers } = {}) => {
    const journal = own ?? createJournal(other);
    const payments = new PaymentsClient({
      ...{ apiKey: API_KEY, baseUrl: BASE_URL, maxRetries: 0, fetch, journal, logger },
      onEvent: (event) => recorded.events.push(event),
      ...client,
    });
    clock.ends.push(() => payments.close());
    const {
      onPaid = (payment: PaidPayment) => recorded.paid.push(payment),
      onUnpaid = (payment: UnpaidPayment) => recorded.unpaid.push(payment),
      onFinal = (final: FinalPayment) =>
        recorded.finals.push({ ...final, status: final.transaction.status, at: clock.now }),
      onAttention = (attention: Attention) => recorded.attentions.push({ ...attention, at: clock.now }),
    } = handlers;
    let orders: OrderPayments | undefined;
    let followUps: FollowUps | undefined;
    return {
      payments,
      journal,
      get orders() {
        orders ??= createOrderPayments({ payments, journal, onPaid, onUnpaid, onAttention });
        return orders;
      },
      get followUps() {
        followUps ??= createFollowUps({ payments, journal, onFinal, onAttention });
        return followUps;
      },
    };
  };

  const shop = start(first);
  return {
    ...recorded,
    clock,
    service: createControls(service, new Webhooks({ sender: 'mock', clock: service.clock })),
    store,
    shop,
    journal: shop.journal,
    start,
  };
}

/** Sweeps whenever a payment is due, for so many milliseconds, or until nothing will be due. */
export async function sweepFor(
  time: number,
  { sweep }: Pick<FollowUps | OrderPayments, 'sweep'>,
  options: SweepOptions = {},
): Promise<SweepResult[]> {
  const end = Date.now() + time;
  const results: SweepResult[] = [];
  for (;;) {
    const result = await sweep(options);
    results.push(result);
    const { nextAt } = result;
    if (nextAt === null || nextAt > end) break;
    await sleep(Math.max(0, nextAt - Date.now()));
  }
  await sleep(Math.max(0, end - Date.now()));
  return results;
}

/** Returns the reference of the last payment of an order, or of the one with this number. */
export function getReference({ payments }: OrderStatus, number = payments.length): string {
  const reference = payments[number - 1]?.reference;
  if (reference === undefined) throw new Error(`payment ${number} has no reference`);
  return reference;
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
