import type { Expectation } from './api/input.ts';
import { type Transaction, type TransactionStatus, transactionStatuses } from './api/transaction.ts';
import { ConfigurationError, type PaymentsError } from './errors.ts';
import type { Logger, PaymentsEvent, Report } from './events.ts';
import type { Journal } from './journal/journal.ts';
import { MAX_TIMEOUT_MS } from './max-timeout.ts';
import { defaultFinalStatuses, defaultSchedule, type Schedule } from './schedule.ts';
import { refuseUnknownOption } from './unknown-option.ts';

/** One HTTP request. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborted when the time is over or the caller gives up: the connection is then to be closed. */
  readonly signal: AbortSignal;
}

/** Takes an answer as it comes in, so that one that breaks off still tells what it can. */
export interface ResponseSink {
  /** The final status, and the headers by name: `null` where there is none of it. */
  onHeaders(status: number, headers: { get(name: string): string | null }): void;
  /**
   * A piece of the body, unpacked. `false`: the body is longer than any answer of the service, and the rest must not
   * be read.
   */
  onData(bytes: Uint8Array): boolean;
}

/**
 * What sends requests, one at a time for each call. It sends each at most once, follows no redirect, and takes the time
 * it needs: timeouts, retries and limits are the client's.
 *
 * It rejects with the runtime's own error. With a transport of your own, an error proves that nothing was sent only if
 * its `code` says so (`ECONNREFUSED`, `ENOTFOUND`, a refused certificate) and it names host and port of the request's
 * address: in `port`, and in `host`, `hostname` or `address`. Anything else is `unknown`: it might come from another
 * request that your code makes.
 */
export interface Transport {
  /** Resolves once the whole answer was given to `answer`, or as much of it as is wanted. */
  send(request: TransportRequest, answer: ResponseSink): Promise<void>;
}

/** How a {@link Fetch} is to send: what fetch calls its init. */
export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Aborted when the time is over or the caller gives up. */
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
  /** Left out where the runtime's fetch knows no cache. */
  readonly cache?: 'no-store';
  /** On Bun, for a POST: its connection is not reused. Pass it on. */
  readonly keepalive?: false;
  /** On Deno, for a POST: a `Deno.HttpClient` that reuses no connection. Pass it on. */
  readonly client?: object;
}

/** What is read of a `Response`. */
export interface FetchResponse {
  readonly type: string;
  readonly status: number;
  readonly headers: {
    /** `null` where there is no such header. */
    get(name: string): string | null;
  };
  readonly body: {
    /** As of a `ReadableStream`. */
    getReader(): {
      /** The next piece, unpacked. */
      read(): Promise<{ done: false; value: Uint8Array } | { done: true }>;
      /** Gives up the rest. */
      cancel(): Promise<void>;
    };
  } | null;
}

/** The runtime's `fetch`, undici's, or one that wraps either. It is given an address and options, never a `Request`. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** What a {@link PaymentsClient} is made from. All durations are in milliseconds. */
export interface PaymentsClientOptions {
  /**
   * The merchant's secret key (SPEC.md, 5), or a function that gives it: asked for each request, so that a key can be
   * rotated while the client is in use. A call with an `idempotencyKey` asks for it before it claims the key.
   *
   * @default the environment variable `PAYMENTS_API_KEY`
   * @example apiKey: () => secrets.get('payments-key')
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * The address of the service with its version prefix. https only; http only for this machine (`localhost`,
   * `127.0.0.1`, `[::1]`). No credentials, query or fragment.
   *
   * @default the environment variable `PAYMENTS_BASE_URL`
   * @example baseUrl: 'https://payments.example/api/v1'
   */
  baseUrl?: string | undefined;
  /**
   * Guards against the wrong key: `live` refuses a key `sk_test_…`, `test` refuses any other, with a
   * `ConfigurationError` and before anything is sent.
   *
   * @default none: any key will do
   * @example mode: 'live'
   */
  mode?: 'live' | 'test' | undefined;
  /**
   * How long one try of a request may take: connecting, headers and the whole body together.
   *
   * @default 30_000
   */
  timeout?: number | undefined;
  /**
   * How often a call is tried again. A read is retried on passing faults; a POST only where it is proven that the
   * service did not take it: no connection was made, or 429.
   *
   * @default 2
   */
  maxRetries?: number | undefined;
  /**
   * The `fetch` to use, for a proxy or a connection pool of your own. It must not send a request again by itself.
   *
   * What it throws proves that nothing was sent only if it names host and port of the base URL, as Node's errors do for
   * `127.0.0.1` and `localhost`. Anything else is `unknown`: it might come from another request that your code makes.
   * The same holds for a global `fetch` that is not Node's own (Next.js and some monitoring tools replace it), and for a
   * global dispatcher with interceptors. `undiciTransport()` keeps the proof there.
   *
   * It must pass on every field of its init: without `client` Deno might send a charge twice, without `keepalive` Bun.
   *
   * @default the global `fetch`, looked up for each request
   * @example fetch: (url, init) => undici.fetch(url, { ...init, dispatcher: proxy })
   */
  fetch?: Fetch | undefined;
  /**
   * What sends the requests in place of `fetch`: `undiciTransport()` of `payment-collection-client/node`.
   *
   * @default `fetch`
   */
  transport?: Transport | undefined;
  /** Headers to send with each request. They cannot replace `Authorization` or `Content-Type`. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Gets one line per request, answer, retry, poll and wait. `console` will do, and so will a pino logger.
   *
   * @default none: nothing is logged
   */
  logger?: Logger | undefined;
  /** Gets one object per request, answer, retry, poll and wait. What it throws changes no result. */
  onEvent?: ((event: PaymentsEvent) => void) | undefined;
  /** How waits poll: their schedule, their limits, and what counts as final. */
  polling?: PollingOptions | undefined;
  /**
   * Where charges with an `idempotencyKey` are recorded, so that each is made at most once, also over a crash:
   * `memoryJournal` of `payment-collection-client/journal`, or that of `/journal/sqlite`, `/postgres` or `/redis`. Each
   * `chargeMobileMoney` then needs an `idempotencyKey`, or `null` for none on purpose. A journal belongs to the base
   * URL and mode that use it first: a client of another one gets a `ConfigurationError`.
   *
   * @default none: `idempotencyKey` is refused
   * @example journal: postgresJournal(pool)
   */
  journal?: Journal | undefined;
  /**
   * Allow the client in a browser. The secret key is then in the hands of everyone who opens the page: for test keys
   * in a demonstration, never for a shop. A browser might also send a charge twice by itself.
   *
   * @default false
   */
  dangerouslyAllowBrowser?: boolean | undefined;
}

/** What every call takes last. Each option stands in for the client's own. */
export interface RequestOptions {
  /** Ends the call: it rejects with the signal's reason, or, for a POST in flight, with `OutcomeUnknownError`. */
  signal?: AbortSignal | undefined;
  /** How long one try may take, in milliseconds. @default the client's `timeout` */
  timeout?: number | undefined;
  /** How often to try again. @default the client's `maxRetries` */
  maxRetries?: number | undefined;
  /** Headers for this call, besides the client's. */
  headers?: Readonly<Record<string, string>> | undefined;
}

/** What `verify` takes last. */
export interface VerifyOptions extends RequestOptions {
  /**
   * What the transaction must be about. Where it is not, the call fails with `TransactionMismatchError`: an order for
   * 100 must not be fulfilled on a payment of 10.
   *
   * @example expect: { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
}

/** What a call that creates something takes last, without an `idempotencyKey`. */
export interface UnkeyedOptions extends RequestOptions {
  /**
   * Fields that the service may have added since this version: sent as they are, beside those of the input.
   *
   * @example extraBody: { callback_url: 'https://shop.example/paid' }
   */
  extraBody?: Readonly<Record<string, unknown>> | undefined;
}

/** What a call that creates something takes last, with an `idempotencyKey`. */
export interface KeyedOptions extends UnkeyedOptions {
  /**
   * At most one charge for each key, also over a crash: the same key again gives the recorded result and sends nothing.
   * The client needs a `journal` for it. One key stands for one charge: a second try after a declined payment needs
   * another key. Put no personal data into it. `null` is a call without a key, on purpose; `undefined` is refused.
   *
   * @example idempotencyKey: `order-${order.id}/1`
   */
  idempotencyKey: string | null;
}

/** What a call that creates something takes last. */
export interface CreateOptions extends UnkeyedOptions, Partial<Pick<KeyedOptions, 'idempotencyKey'>> {}

/** What a key's shape says of its mode: SPEC.md, 5, shows no live key. */
export type Mode = 'test' | 'unknown';

/** The client's options, checked, with every default filled in. */
export interface ResolvedOptions {
  readonly apiKey: string | (() => string | Promise<string>);
  readonly mode: Mode;
  readonly requiredMode: 'live' | 'test' | undefined;
  readonly baseUrl: string;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly fetch: Fetch | undefined;
  readonly transport: Transport | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly polling: ResolvedPolling;
  readonly report: Report;
  /** A reference as it may be printed. */
  readonly showReference: (reference: string) => string;
  readonly journal: Journal | undefined;
}

/** A call's options, checked, with the client's own filled in. */
export interface ResolvedRequestOptions {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A status that SPEC.md shows. */
export type KnownStatus = Exclude<TransactionStatus, 'unrecognised'>;

/** How all waits of a client poll. All durations are in milliseconds. */
export interface PollingOptions extends Schedule {
  /**
   * The statuses that end a wait. SPEC.md does not say whether an abandoned payment may still succeed: where yours
   * may, leave `abandoned` out.
   *
   * @default ['success', 'failed', 'abandoned']
   */
  finalStatuses?: readonly KnownStatus[] | undefined;
  /**
   * How many polls may be under way at once.
   *
   * @default 64
   */
  maxConcurrency?: number | undefined;
  /**
   * How many polls may leave in a second, at most a tenth of them at once. Over it, the one that is due earliest goes
   * first.
   *
   * @default 50
   */
  maxRequestsPerSecond?: number | undefined;
}

/** What `onPoll` gets after each poll: enough for a progress line. */
export interface Poll {
  reference: string;
  /** 1 for the first poll of this wait. */
  attempt: number;
  /** Milliseconds since `startedAt`, or since the wait began. */
  elapsed: number;
  /** The transaction, where the poll was answered with one. */
  transaction: Transaction | undefined;
  /** Why the poll failed, where it did. A passing fault does not end the wait. */
  error: PaymentsError | undefined;
  /** Milliseconds to the next poll, or `null` where there will be none. */
  nextDelay: number | null;
}

/**
 * What `waitForFinalStatus` and `watch` take last. Waits on one reference share their polls: as often as the most
 * impatient of them asks, from the `startedAt` and with the `headers` of the first.
 */
export interface WaitOptions extends RequestOptions, Omit<Schedule, 'timeout'> {
  /**
   * How long to wait in milliseconds, counted from `startedAt` where that is given: the deadline. May be `Infinity`.
   *
   * @default 600_000, or the client's `polling.timeout`
   */
  timeout?: number | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. Schedule and deadline count from there, also in another
   * process that carries the wait on. Without it the first check is made at once.
   *
   * @example startedAt: order.chargedAt.getTime()
   */
  startedAt?: number | undefined;
  /** Hears of each poll. Neither what it throws nor what it does to the transaction changes anything. */
  onPoll?: ((poll: Poll) => void) | undefined;
  /** What the transaction must show: judged on the final status. @example { amount: '25.50', currency: 'GHS' } */
  expect?: Expectation | undefined;
  /** The statuses that end this wait. @default the client's `polling.finalStatuses` */
  finalStatuses?: readonly KnownStatus[] | undefined;
}

/** A reference for `reconcile`, with what is known of its charge. */
export interface ReconcileItem {
  reference: string;
  /**
   * What the transaction must show, whatever its status: else the `error` of this reference is a
   * `TransactionMismatchError`. @example { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. The check is then made `initialDelay` after it at the earliest,
   * and otherwise at once.
   */
  startedAt?: number | undefined;
}

/** What `reconcile` takes last: `timeout` bounds the check of each reference, counted from when that is taken up. */
export type ReconcileOptions = Omit<WaitOptions, 'expect' | 'startedAt' | 'finalStatuses'>;

/** What spaces and ends polls, with every default filled in. Waits without options of their own share one. */
export interface PollingRules {
  initialDelay: number;
  minDelay: number;
  maxDelay: number;
  timeout: number;
  finalStatuses: readonly string[];
}

export interface ResolvedPolling {
  rules: PollingRules;
  maxConcurrency: number;
  maxRequestsPerSecond: number;
}

export function resolvePolling(options: PollingOptions = {}): ResolvedPolling {
  const { maxConcurrency = 64, maxRequestsPerSecond = 50, ...rules } = options;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    throw new ConfigurationError('polling.maxConcurrency must be a whole number, 1 or more.');
  }
  if (!inRange(maxRequestsPerSecond, Number.MIN_VALUE, 1_000_000)) {
    throw new ConfigurationError('polling.maxRequestsPerSecond must be more than 0 and at most 1,000,000.');
  }
  const defaults = { ...defaultSchedule, finalStatuses: defaultFinalStatuses };
  return {
    rules: resolveRules(rules, defaults, POLLING_OPTIONS, 'polling.'),
    maxConcurrency,
    maxRequestsPerSecond,
  };
}

const POLLING_OPTIONS: Readonly<Record<keyof PollingOptions, true>> = {
  initialDelay: true,
  minDelay: true,
  maxDelay: true,
  timeout: true,
  finalStatuses: true,
  maxConcurrency: true,
  maxRequestsPerSecond: true,
};

const WAIT_OPTIONS: Readonly<Record<keyof WaitOptions, true>> = {
  signal: true,
  timeout: true,
  maxRetries: true,
  headers: true,
  startedAt: true,
  onPoll: true,
  expect: true,
  finalStatuses: true,
  initialDelay: true,
  minDelay: true,
  maxDelay: true,
};

type RulesOptions = Schedule & { finalStatuses?: readonly KnownStatus[] | undefined };

export function resolveRules(
  options: RulesOptions,
  defaults: PollingRules,
  known: Readonly<Record<string, true>> = WAIT_OPTIONS,
  inside = '',
): PollingRules {
  const {
    initialDelay = defaults.initialDelay,
    minDelay = defaults.minDelay,
    maxDelay = isDelay(minDelay, 1) ? Math.max(defaults.maxDelay, minDelay) : defaults.maxDelay,
    timeout = defaults.timeout,
    finalStatuses,
    ...unknown
  } = options;
  refuseUnknownOption(unknown, known, inside);
  checkDelays({ initialDelay, minDelay, maxDelay });
  checkTimeout(timeout);
  const finals = finalStatuses === undefined ? defaults.finalStatuses : validateFinalStatuses(finalStatuses);
  return { initialDelay, minDelay, maxDelay, timeout, finalStatuses: finals };
}

/** A list of its own: what ends a wait must not change while it waits. */
function validateFinalStatuses(finalStatuses: readonly KnownStatus[]): readonly string[] {
  const finals: readonly unknown[] = Array.isArray(finalStatuses) ? [...finalStatuses] : [];
  if (!finals.includes('success')) {
    throw new ConfigurationError(
      "finalStatuses must be a list with 'success' in it: nothing follows a payment.",
    );
  }
  return finals.map((given) => {
    const status = transactionStatuses.find((known) => known === given);
    if (status !== undefined) return status;
    throw new ConfigurationError(`finalStatuses must be some of ${transactionStatuses.join(', ')}.`);
  });
}

/** Text from an environment variable would be put behind a number, not added to it. */
export function checkTimeout(timeout: number): void {
  if (!(typeof timeout === 'number' && timeout > 0))
    throw new ConfigurationError('The timeout of a wait must be milliseconds, more than 0.');
}

function checkDelays({
  initialDelay,
  minDelay,
  maxDelay,
}: Pick<PollingRules, 'initialDelay' | 'minDelay' | 'maxDelay'>): void {
  for (const [name, delay, least] of [
    ['initialDelay', initialDelay, 0],
    ['minDelay', minDelay, 1],
    ['maxDelay', maxDelay, 1],
  ] as const) {
    if (!isDelay(delay, least)) {
      throw new ConfigurationError(`${name} must be milliseconds, at least ${least} and under 2^31.`);
    }
  }
  if (minDelay > maxDelay) throw new ConfigurationError('minDelay must not be more than maxDelay.');
}

function isDelay(delay: number, least: number): boolean {
  return inRange(delay, least, MAX_TIMEOUT_MS);
}

/** Text would be compared as the number in it, and a BigInt breaks the arithmetic that follows. */
function inRange(value: number, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
