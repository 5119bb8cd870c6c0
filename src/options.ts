/** Every option that a caller can set, and what the client makes of them. `normalize-options.ts` checks them. */

import type { Expectation } from './api/input.ts';
import type { KnownStatus, Transaction } from './api/transaction.ts';
import type { PaymentsError } from './errors.ts';
import type { Logger, PaymentsEvent, Report } from './events.ts';
import type { Journal } from './journal/journal.ts';
import type { ResolutionNote } from './journal/resolution.ts';
import type { Schedule } from './schedule.ts';

/** The options of a {@link PaymentsClient}. All durations are in milliseconds. */
export interface PaymentsClientOptions {
  /**
   * The merchant's secret key, or a function that returns it. The function is called for each request, so that the key
   * can change while the client is in use. A call with an `idempotencyKey` calls it once more before it claims the key.
   *
   * @default the environment variable `PAYMENTS_API_KEY`
   * @example apiKey: () => secrets.get('payments-key')
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * The address of the service with its version prefix. It must be https. http is for this machine only (`localhost`,
   * `127.0.0.1`, `[::1]`), or see `dangerouslyAllowHttp`. It must have no credentials, query or fragment.
   *
   * @default the environment variable `PAYMENTS_BASE_URL`
   * @example baseUrl: 'https://payments.example/api/v1'
   */
  baseUrl?: string | undefined;
  /**
   * Guards against the wrong key: `live` refuses a key `sk_test_…`, `test` refuses any other. The constructor then throws a
   * `ConfigurationError`. If `apiKey` is a function, the call rejects with it before anything is sent.
   *
   * @default none: any key is accepted
   * @example mode: 'live'
   */
  mode?: 'live' | 'test' | undefined;
  /**
   * How long one attempt can take, in milliseconds: connecting, headers and the whole body together. A process that was
   * frozen or busy sends nothing after it. On Node, a response that arrived meanwhile is still read.
   *
   * @default 30_000
   */
  timeout?: number | undefined;
  /**
   * How many times a call is retried. A read is retried after a temporary error. A POST is retried only if no connection
   * was made, or after a 429. It is an assumption that a 429 means "not accepted" (docs/reference/service.md, "Errors").
   *
   * @default 2
   */
  maxRetries?: number | undefined;
  /**
   * The largest amount of a charge or a payment, in main units: a number, or decimal text such as `'5000.00'`. A larger one is
   * an `InvalidInputError` before anything is sent, so that 2550 pesewas are not charged as GHS 2550.00.
   *
   * @default none
   * @example maxAmount: 5_000
   */
  maxAmount?: number | string | undefined;
  /**
   * The `fetch` to use, for a proxy or a connection pool of your own. It must not send a request again by itself.
   *
   * An error of it proves that nothing was sent only if it names host and port of the base URL, as Node's errors do for
   * `127.0.0.1` and `localhost`. Any other error is `unknown`: it might come from another request that your code makes.
   * The same holds for a global `fetch` that is not Node's own (Next.js and some monitoring tools replace it), and for a
   * global dispatcher with interceptors. `undiciTransport()` keeps the proof there.
   *
   * It must pass on every field of its init. Without `client`, Deno might send a charge twice; without `keepalive`, Bun.
   *
   * @default the global `fetch`, read for each request
   * @example fetch: (url, init) => undici.fetch(url, { ...init, dispatcher: proxy })
   */
  fetch?: Fetch | undefined;
  /**
   * What sends the requests in place of `fetch`: `undiciTransport()` of `payment-collection-client/node`.
   *
   * @default `fetch`
   */
  transport?: Transport | undefined;
  /**
   * Headers to send with each request. They cannot replace `Authorization` or `Content-Type`.
   *
   * @default none
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Gets one line per event: a request, a response, a retry, a poll, a wait, and what the journal and follow-ups report. Pass
   * `console` or a pino logger.
   *
   * @default none: nothing is logged
   */
  logger?: Logger | undefined;
  /**
   * Gets one object per event: a request, a response, a retry, a poll, a wait, and what the journal and follow-ups report. An
   * error that it throws changes no result.
   *
   * @default none
   */
  onEvent?: ((event: PaymentsEvent) => void) | undefined;
  /**
   * How waits poll: their schedule, their limits, and which statuses are final.
   *
   * @default the defaults of PollingOptions
   */
  polling?: PollingOptions | undefined;
  /**
   * Where charges with an `idempotencyKey` are recorded, so that each is made at most once, even after a crash. Use
   * `memoryJournal` of `payment-collection-client/journal`, or the journal of `/journal/sqlite`, `/postgres`, `/mysql` or
   * `/redis`.
   * Each `chargeMobileMoney` then needs an `idempotencyKey`, or `null` for none on purpose. Each record belongs to the base
   * URL and mode that made it: under its key, a client of another one gets a `ConfigurationError`.
   *
   * @default none: `idempotencyKey` is refused
   * @example journal: postgresJournal(pool)
   */
  journal?: Journal | undefined;
  /**
   * Allows the client in a browser. Everyone who opens the page can then read the secret key. Use it with a test key in a
   * demonstration, never in a shop. A browser might also send a charge twice by itself.
   *
   * @default false
   */
  dangerouslyAllowBrowser?: boolean | undefined;
  /**
   * Allows a `baseUrl` with http to another machine or container, with a key `sk_test_…` only: others on the network can
   * read the key and the customer's data. Any other key is then refused before anything is sent. It is for the sandbox in
   * docker-compose. It changes nothing for https and for this machine.
   *
   * @default false
   */
  dangerouslyAllowHttp?: boolean | undefined;
}

/** The runtime's `fetch`, undici's, or one that wraps either. It gets an address and options, never a `Request`. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** How a {@link Fetch} must send: what fetch calls its init. */
export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Aborted after the timeout, and when the caller aborts. */
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
  /** Left out if the runtime's fetch has no cache. */
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
    /** `null` if there is no such header. */
    get(name: string): string | null;
  };
  readonly body: {
    /** As of a `ReadableStream`. */
    getReader(): {
      /** The next chunk, decompressed. */
      read(): Promise<{ done: false; value: Uint8Array } | { done: true }>;
      /** Discards the rest. */
      cancel(): Promise<void>;
    };
  } | null;
}

/**
 * Sends requests, each at most once. It follows no redirect and has no timeout: timeouts, retries and limits are the
 * client's.
 *
 * It rejects with the runtime's own error. With a transport of your own, an error proves that nothing was sent only if
 * its `code` proves it (`ECONNREFUSED`, `ENOTFOUND`, a refused certificate) and it names host and port of the request's
 * address: in `port`, and in `host`, `hostname` or `address`. Any other error is `unknown`: it might come from another
 * request that your code makes.
 */
export interface Transport {
  /** Resolves once the whole response was given to `sink`, or as much of it as is wanted. */
  send(request: TransportRequest, sink: ResponseSink): Promise<void>;
}

/** One HTTP request. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborted after the timeout, and when the caller aborts. Close the connection then. */
  readonly signal: AbortSignal;
}

/** Takes a response as it arrives, so that even a response that is cut off gives what it can. */
export interface ResponseSink {
  /** Takes the final status and the headers by name: `null` if there is no such header. */
  onHeaders(status: number, headers: { get(name: string): string | null }): void;
  /**
   * Takes a chunk of the body, decompressed. Returns `false` if the body is longer than any response of the service: do
   * not read the rest.
   */
  onData(bytes: Uint8Array): boolean;
}

/**
 * The options of every call. Each replaces the client's option of the same name. A wait and `check` do not use
 * `maxRetries`: the schedule, or your queue, makes the next request.
 */
export interface RequestOptions {
  /**
   * Ends the call. It rejects with the signal's reason, or, for a POST in flight, with `OutcomeUnknownError`.
   *
   * @default none
   */
  signal?: AbortSignal | undefined;
  /** How long one attempt can take, in milliseconds. @default the client's `timeout` */
  timeout?: number | undefined;
  /** How many times to retry. @default the client's `maxRetries` */
  maxRetries?: number | undefined;
  /** Headers for this call, besides the client's. @default none */
  headers?: Readonly<Record<string, string>> | undefined;
}

/** The options of `verify`. */
export interface VerifyOptions extends RequestOptions {
  /**
   * What the transaction must show. Otherwise the call fails with `TransactionMismatchError`: an order for 100 must not
   * be fulfilled on a payment of 10.
   *
   * @default none: any amount and currency
   * @example expect: { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
}

/** The options of a call that creates something, without an `idempotencyKey`. */
export interface UnkeyedOptions extends RequestOptions {
  /**
   * Fields that the service added after this version. They are sent as they are, beside those of the input.
   *
   * @default none
   * @example extraBody: { callback_url: 'https://shop.example/paid' }
   */
  extraBody?: Readonly<Record<string, unknown>> | undefined;
}

/** The options of a call that creates something, with an `idempotencyKey`. */
export interface KeyedOptions extends UnkeyedOptions {
  /**
   * Makes at most one charge for each key, even after a crash: the same key again returns the recorded result and sends
   * nothing. The client needs a `journal` for it. One key stands for one charge: to charge again after a declined payment,
   * use another key. Put no personal data into it. `null` is a call without a key, on purpose; `undefined` is refused.
   *
   * @example idempotencyKey: `order-${order.id}/1`
   */
  idempotencyKey: string | null;
}

/** The options of a call that creates something. */
export interface CreateOptions extends UnkeyedOptions, Partial<Pick<KeyedOptions, 'idempotencyKey'>> {}

/**
 * The options of a call that creates something, as arguments: they must have an `idempotencyKey` if `J` is a journal. Overloads
 * would hide which field of an input is wrong.
 */
export type CreateArguments<J = undefined> = [J] extends [Journal]
  ? [options: KeyedOptions]
  : [options: KeyedOptions] | [options?: UnkeyedOptions | undefined];

/**
 * The options of `waitForFinalStatus` and `watch`. Waits on one reference share their polls. The wait with the shortest
 * delay decides how often they poll. The first wait decides the `startedAt` and the `headers` of the polls.
 */
export interface WaitOptions extends RequestOptions, Omit<Schedule, 'timeout'> {
  /**
   * The deadline: how long to wait in milliseconds, counted from `startedAt` if that is given. `Infinity` is allowed.
   *
   * @default 600_000, or the client's `polling.timeout`
   */
  timeout?: number | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. Schedule and deadline count from there, also in another process
   * that continues the wait. Without it, the first check is made at once.
   *
   * @default now
   * @example startedAt: order.chargedAt.getTime()
   */
  startedAt?: number | undefined;
  /**
   * Called after each poll. An error that it throws and a change that it makes to the transaction have no effect.
   *
   * @default none
   */
  onPoll?: ((poll: Poll) => void) | undefined;
  /**
   * What the transaction must show. It is checked on the final status.
   *
   * @default none: any amount and currency
   * @example { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
  /** The statuses that end this wait. @default the client's `polling.finalStatuses` */
  finalStatuses?: readonly KnownStatus[] | undefined;
}

/** What `onPoll` gets after each poll: enough for a progress line. */
export interface Poll {
  reference: string;
  /** 1 for the first poll of this wait. */
  attempt: number;
  /** Milliseconds since `startedAt`, or since the wait started. */
  elapsed: number;
  /** The transaction, if the poll returned one. */
  transaction: Transaction | undefined;
  /** Why the poll failed, if it did. A temporary error does not end the wait. */
  error: PaymentsError | undefined;
  /** Milliseconds to the next poll, or `null` if there will be none. */
  nextDelay: number | null;
}

/** The options of `reconcile`. `timeout` bounds the check of each reference, counted from when that check is queued. */
export interface ReconcileOptions extends Omit<WaitOptions, 'expect' | 'startedAt' | 'finalStatuses'> {}

/** A reference for `reconcile`, with what is known of its charge. */
export interface ReconcileItem {
  reference: string;
  /**
   * What the transaction must show, whatever its status. Otherwise the `error` of this reference is a
   * `TransactionMismatchError`.
   *
   * @default none: any amount and currency
   * @example { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. The check is made at least `initialDelay` after it.
   *
   * @default none: the check is made at once
   */
  startedAt?: number | undefined;
}

/** The options of `resolve`: who resolves the key, and why. The others are those of the request to the service. */
export interface ResolveOptions extends RequestOptions, ResolutionNote {}

/** The options of `close`. */
export interface CloseOptions {
  /**
   * How long the calls in flight are waited for, in milliseconds. Those that have not ended by then are written to
   * `logger`, or with `console.error`.
   *
   * @default 30_000
   */
  timeout?: number | undefined;
}

/** How all waits of a client poll. All durations are in milliseconds. */
export interface PollingOptions extends Schedule {
  /**
   * The statuses that end a wait. The service does not document whether an abandoned payment can still succeed. If yours
   * can, leave `abandoned` out.
   *
   * @default ['success', 'failed', 'abandoned']
   */
  finalStatuses?: readonly KnownStatus[] | undefined;
  /**
   * The maximum number of polls in flight.
   *
   * @default 64
   */
  maxConcurrency?: number | undefined;
  /**
   * The maximum number of polls sent in a second, at most a tenth of them at once. Over the limit, the poll that is due
   * earliest goes first.
   *
   * @default 50
   */
  maxRequestsPerSecond?: number | undefined;
}

/** The client's options, checked, with every default filled in. */
export interface NormalizedOptions {
  readonly apiKey: string | (() => string | Promise<string>);
  readonly mode: Mode;
  readonly keyRules: KeyRules;
  readonly baseUrl: string;
  readonly timeout: number;
  readonly maxRetries: number;
  /** `Infinity` for none. */
  readonly maxAmount: number;
  readonly fetch: Fetch | undefined;
  readonly transport: Transport | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly polling: NormalizedPolling;
  readonly report: Report;
  /** The same, but `undefined` if nothing listens. */
  readonly reportRequest: Report | undefined;
  /** Returns a reference as it can be printed. */
  readonly redactReference: (reference: string) => string;
  readonly journal: Journal | undefined;
}

/** Which keys a client can use. */
export interface KeyRules {
  readonly requiredMode: 'live' | 'test' | undefined;
  /** Whether the base URL is http to another machine: only a test key is sent there. */
  readonly isHttpToOthers: boolean;
}

/** The mode that the shape of a key shows. The shape of a live key is not documented. */
export type Mode = 'test' | 'unknown';

/** A call's options, checked, with the client's own filled in. */
export interface NormalizedRequestOptions {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The client's polling options, checked, with every default filled in. */
export interface NormalizedPolling {
  rules: PollingRules;
  maxConcurrency: number;
  maxRequestsPerSecond: number;
}

/** What spaces and ends the polls of a wait. Waits without options of their own share one object. */
export interface PollingRules {
  initialDelay: number;
  minDelay: number;
  maxDelay: number;
  timeout: number;
  finalStatuses: readonly string[];
}
