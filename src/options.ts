/**
 * Every option that a caller can set: what it does, its default, and the check that fails before anything is sent. Each schema stands
 * below its interface.
 */

import * as z from 'zod/mini';
import { type Expectation, MIN_EPOCH_MS } from './api/input.ts';
import { findAmountIssue } from './api/money.ts';
import type { OperationName } from './api/operations.ts';
import { isKnownStatus, type KnownStatus, type Transaction, transactionStatuses } from './api/transaction.ts';
import { type ApiKeySource, detectMode, validateKeyForm, validateKeyMode } from './api-key.ts';
import { isHttpToOthers, validateBaseUrl } from './base-url.ts';
import { ConfigurationError, type PaymentsError } from './errors.ts';
import { createReporters, type Logger, type PaymentsEvent } from './events.ts';
import { getRecords } from './journal/core.ts';
import type { Journal } from './journal/journal.ts';
import type { ResolutionNote } from './journal/resolution.ts';
import {
  type OptionsShape,
  optionalFunction,
  optionalNumber,
  optionalSignal,
  optionalValue,
  parseOptions,
  readEnv,
  unchecked,
} from './parse-options.ts';
import { defaultFinalStatuses, defaultSchedule, type Schedule } from './schedule.ts';
import { MAX_TIMEOUT_MS } from './support/max-timeout.ts';
import { createRedact } from './support/redact.ts';
import { isPlainName } from './support/unknown-option.ts';
import { isObject } from './support/untrusted.ts';

/** The options of a {@link PaymentsClient}. All durations are in milliseconds. */
export interface PaymentsClientOptions {
  /**
   * The merchant's secret key, or a function that returns it. The function is called for each request, so that the key
   * can change while the client is in use. A call with an `idempotencyKey` calls it once more before it claims the key.
   *
   * @default the environment variable `PAYMENTS_API_KEY`
   * @example apiKey: () => process.env.SHOP_API_KEY ?? ''
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
   * @example fetch: (url, init) => fetch(url, init)
   */
  fetch?: Fetch | undefined;
  /**
   * What sends the requests in place of `fetch`: `undiciTransport()` of `payment-collection-client/node`.
   *
   * @default `fetch`
   */
  transport?: Transport | undefined;
  /**
   * Headers to send with each request. `Authorization`, `Content-Type` and those of the connection, such as `Host`, are refused.
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
   * @example journal: memoryJournal()
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

type Headers = Readonly<Record<string, string>>;

const sharedShape = /* @__PURE__ */ (() => ({
  timeout: optionalNumber(
    (timeout) => timeout > 0 && timeout <= MAX_TIMEOUT_MS,
    `timeout must be milliseconds, more than 0 and at most ${MAX_TIMEOUT_MS}.`,
  ),
  maxRetries: optionalNumber(
    (retries) => Number.isInteger(retries) && retries >= 0,
    'maxRetries must be a whole number, 0 or more.',
  ),
  headers: z.optional(
    z.pipe(
      z.custom<Headers>((value) => isObject(value) && !(Symbol.iterator in value), {
        error: 'headers must be an object of names and values.',
      }),
      z.transform((given, { issues }) => {
        const headers = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
        for (const [name, value] of headers) {
          const message = findHeaderProblem(name, value);
          if (message) issues.push({ code: 'custom', input: given, message });
        }
        return Object.fromEntries(headers);
      }),
    ),
  ),
}))();

function findHeaderProblem(name: string, value: unknown): string | undefined {
  if (RESERVED_HEADERS.includes(name)) return `The header ${name} is set by the client itself.`;
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return 'A header has a name that is not valid.';
  if (typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return undefined;
  const header = isPlainName(name) ? `The header ${name}` : 'A header';
  return `${header} must be a string without line breaks, in Latin-1.`;
}

/** Only the client or fetch can set these: a wrong one breaks the request or sends the key to another host. */
const RESERVED_HEADERS = [
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const LOGGER_METHODS = ['debug', 'info', 'warn', 'error'];

const hasMethods = (value: unknown, methods: readonly string[]) =>
  isObject(value) && methods.every((method) => typeof Reflect.get(value, method) === 'function');

const clientSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    apiKey: optionalValue<ApiKeySource>(
      (value) => typeof value === 'string' || typeof value === 'function',
      'apiKey must be a string, or a function that returns one.',
    ),
    baseUrl: optionalValue<string>(
      (value) => typeof value === 'string',
      'baseUrl must be an address such as https://payments.example/api/v1.',
    ),
    mode: optionalValue<'live' | 'test'>(
      (value) => value === 'live' || value === 'test',
      "mode must be 'live' or 'test', or left out.",
    ),
    ...sharedShape,
    maxAmount: z.optional(
      z.pipe(
        z.custom<number | string>(
          (value) =>
            (typeof value === 'number' || typeof value === 'string') && findAmountIssue(value) === null,
          { error: "maxAmount must be a decimal of at least 1, such as 5000 or '5000.00'." },
        ),
        z.transform(Number),
      ),
    ),
    fetch: optionalFunction<Fetch>('fetch'),
    transport: optionalValue<Transport>(
      (value) => hasMethods(value, ['send']),
      'transport must be a transport, such as undiciTransport().',
    ),
    logger: optionalValue<Logger>(
      (value) => hasMethods(value, LOGGER_METHODS),
      'logger must have the methods debug, info, warn and error, as console has.',
    ),
    onEvent: optionalFunction<(event: PaymentsEvent) => void>('onEvent'),
    polling: optionalValue<PollingOptions>(isObject, 'polling must be an object.'),
    journal: unchecked<Journal>(),
    // Anything but `true` leaves the guard in place.
    dangerouslyAllowBrowser: unchecked<boolean>(),
    dangerouslyAllowHttp: unchecked<boolean>(),
  } satisfies OptionsShape<PaymentsClientOptions>))();

/**
 * Checks the client's options and fills in every default.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 */
export function normalizeOptions(options: PaymentsClientOptions) {
  const given = parseOptions(clientSchema, options, {
    notAnObject: 'The options must be a plain object, such as { apiKey, baseUrl }.',
  });
  const { mode, fetch, transport, journal, onEvent, logger } = given;
  if (fetch && transport) throw new ConfigurationError('Give fetch or transport, not both.');
  if (journal !== undefined) getRecords(journal);
  if (isBrowser() && given.dangerouslyAllowBrowser !== true) {
    throw new ConfigurationError(
      'This is a browser: everyone who opens the page could read the secret key. Call the service from your server. ' +
        'For a demonstration with a test key, set dangerouslyAllowBrowser: true.',
    );
  }
  const apiKey = given.apiKey ?? readEnv('PAYMENTS_API_KEY');
  const key = typeof apiKey === 'function' ? apiKey : validateKeyForm(apiKey);
  const baseUrl = validateBaseUrl(
    given.baseUrl ?? readEnv('PAYMENTS_BASE_URL'),
    given.dangerouslyAllowHttp === true,
  );
  const apiKeyRules = { requiredMode: mode, isHttpToOthers: isHttpToOthers(new URL(baseUrl)) };
  if (typeof key === 'string') validateKeyMode(key, apiKeyRules);
  const { id: redactReference } = createRedact(typeof key === 'string' ? [key] : []);
  return {
    apiKey: key,
    mode: typeof key === 'string' ? detectMode(key) : 'unknown',
    apiKeyRules,
    baseUrl,
    timeout: given.timeout ?? 30_000,
    maxRetries: given.maxRetries ?? 2,
    /** `Infinity` for none. */
    maxAmount: given.maxAmount ?? Number.POSITIVE_INFINITY,
    headers: given.headers ?? {},
    fetch,
    transport,
    polling: normalizePolling(given.polling),
    ...createReporters(onEvent, logger, redactReference),
    redactReference,
    journal,
  };
}

/** The client's options, checked, with every default filled in. */
export type NormalizedOptions = Readonly<ReturnType<typeof normalizeOptions>>;

function isBrowser(): boolean {
  return typeof window !== 'undefined' && typeof window.document !== 'undefined';
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

// The options of a call.

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

const requestShape = /* @__PURE__ */ (() =>
  ({ ...sharedShape, signal: optionalSignal }) satisfies OptionsShape<RequestOptions>)();

export const requestOptionsSchema = /* @__PURE__ */ (() => z.strictObject(requestShape))();

/** Fills in the client's options for those that a call was not given. */
export function normalizeRequestOptions(
  { signal, timeout, maxRetries, headers }: RequestOptions,
  client: Omit<NormalizedOptions, 'apiKey'>,
) {
  return {
    signal,
    timeout: timeout ?? client.timeout,
    maxRetries: maxRetries ?? client.maxRetries,
    headers: headers ? { ...client.headers, ...headers } : client.headers,
  };
}

/** A call's options, checked, with the client's own filled in. */
export type NormalizedRequestOptions = Readonly<ReturnType<typeof normalizeRequestOptions>>;

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

/** `expect` is a part of the input, and checked with it. */
export const verifyOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    expect: unchecked<Expectation>(),
  } satisfies OptionsShape<VerifyOptions>))();

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
   * @example idempotencyKey: 'order-17/1'
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

/** What the call means by its `idempotencyKey`, and what `extraBody` can be, depends on the operation. */
export const createOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    idempotencyKey: unchecked<string | null>(),
    extraBody: unchecked<Readonly<Record<string, unknown>>>(),
  } satisfies OptionsShape<CreateOptions>))();

/**
 * Returns the key that a call was given; `null` for none. A key that is missing by mistake would silently charge twice.
 *
 * @throws {ConfigurationError} if the call does not state which it means.
 */
export function readIdempotencyKey(
  options: CreateOptions,
  operation: OperationName,
  hasJournal: boolean,
): string | null {
  const { idempotencyKey } = options;
  if (idempotencyKey !== undefined) return idempotencyKey;
  const hint = 'Nothing was sent. Give one, such as "order-17/1", or null for none on purpose.';
  if (Object.hasOwn(options, 'idempotencyKey'))
    throw new ConfigurationError(`${operation}: idempotencyKey is undefined. ${hint}`, { operation });
  if (hasJournal && operation === 'chargeMobileMoney')
    throw new ConfigurationError(
      `${operation}: a client with a journal needs an idempotencyKey for each charge. ${hint}`,
      { operation },
    );
  return null;
}

/** The options of `resolve`: who resolves the key, and why. The others are those of the request to the service. */
export interface ResolveOptions extends RequestOptions, ResolutionNote {}

/** Who resolves a key, and why, is checked with the resolution. */
export const resolveOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    by: unchecked<string>(),
    reason: unchecked<string>(),
    revision: unchecked<string>(),
  }))();

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

// The options of polling and of a wait.

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

const optionalDelay = (name: string, least: number) =>
  optionalNumber(
    (value) => value >= least && value <= MAX_TIMEOUT_MS,
    `${name} must be milliseconds, at least ${least} and under 2^31.`,
  );

const scheduleShape = /* @__PURE__ */ (() =>
  ({
    initialDelay: optionalDelay('initialDelay', 0),
    minDelay: optionalDelay('minDelay', 1),
    maxDelay: optionalDelay('maxDelay', 1),
    timeout: optionalNumber(
      (timeout) => timeout > 0,
      'The timeout of a wait must be milliseconds, more than 0.',
    ),
  }) satisfies OptionsShape<Schedule>)();

const finalStatuses = /* @__PURE__ */ (() =>
  z.optional(
    z
      .custom<readonly KnownStatus[]>((value) => Array.isArray(value) && value.includes('success'), {
        error: "finalStatuses must be a list with 'success' in it: no status follows a payment.",
        abort: true,
      })
      .check(
        z.refine((statuses) => statuses.every(isKnownStatus), {
          error: `finalStatuses must be some of ${transactionStatuses.join(', ')}.`,
        }),
      ),
  ))();

const pollingSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...scheduleShape,
    finalStatuses,
    maxConcurrency: optionalNumber(
      (value) => Number.isInteger(value) && value >= 1,
      'polling.maxConcurrency must be a whole number, 1 or more.',
    ),
    maxRequestsPerSecond: optionalNumber(
      (value) => value > 0 && value <= 1_000_000,
      'polling.maxRequestsPerSecond must be more than 0 and at most 1,000,000.',
    ),
  } satisfies OptionsShape<PollingOptions>))();

function normalizePolling(options: PollingOptions = {}) {
  const given = parseOptions(pollingSchema, options, { prefix: 'polling.' });
  const { maxConcurrency = 64, maxRequestsPerSecond = 50, ...rules } = given;
  const defaults = { ...defaultSchedule, finalStatuses: defaultFinalStatuses };
  return { rules: normalizePollingRules(rules, defaults), maxConcurrency, maxRequestsPerSecond };
}

/** What spaces and ends the polls of a wait. Waits without options of their own share one object. */
export interface PollingRules {
  initialDelay: number;
  minDelay: number;
  maxDelay: number;
  timeout: number;
  finalStatuses: readonly string[];
}

type PollingRulesOptions = Schedule & { finalStatuses?: readonly KnownStatus[] | undefined };

/**
 * Fills in `defaults` for what spaces and ends polls.
 *
 * @throws {ConfigurationError} if `minDelay` is more than `maxDelay`.
 */
export function normalizePollingRules(
  options: PollingRulesOptions,
  defaults: PollingRules,
  operation?: OperationName,
): PollingRules {
  const { initialDelay = defaults.initialDelay, minDelay = defaults.minDelay } = options;
  const { maxDelay = Math.max(defaults.maxDelay, minDelay), timeout = defaults.timeout } = options;
  if (minDelay > maxDelay)
    throw new ConfigurationError('minDelay must not be more than maxDelay.', { operation });
  // A copy: what ends a wait must not change during the wait.
  const finals = options.finalStatuses ? [...options.finalStatuses] : defaults.finalStatuses;
  return { initialDelay, minDelay, maxDelay, timeout, finalStatuses: finals };
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

const reconcileShape = /* @__PURE__ */ (() =>
  ({
    ...requestShape,
    ...scheduleShape,
    onPoll: optionalFunction<(poll: Poll) => void>('onPoll'),
  }) satisfies OptionsShape<ReconcileOptions>)();

export const reconcileOptionsSchema = /* @__PURE__ */ (() => z.strictObject(reconcileShape))();

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
   * @example startedAt: Date.parse('2026-11-22T10:00:00Z')
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

export const waitOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...reconcileShape,
    expect: unchecked<Expectation>(),
    startedAt: optionalNumber(
      (value) => Number.isFinite(value) && value >= MIN_EPOCH_MS,
      'startedAt must be milliseconds since 1970, as Date.now() returns: not seconds. Nothing was sent.',
    ),
    finalStatuses,
  } satisfies OptionsShape<WaitOptions>))();

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
