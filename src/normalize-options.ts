/**
 * The options of the client, of a call and of a wait: what each can be, and its default. An option that cannot work fails
 * here, before anything is sent.
 */

import * as z from 'zod/mini';
import { type Expectation, MIN_EPOCH_MS } from './api/input.ts';
import { findAmountIssue } from './api/money.ts';
import type { OperationName } from './api/operations.ts';
import { type KnownStatus, transactionStatuses } from './api/transaction.ts';
import { ConfigurationError } from './errors.ts';
import { createReporters, type Logger, type PaymentsEvent } from './events.ts';
import { getRecords } from './journal/core.ts';
import type { Journal } from './journal/journal.ts';
import type {
  CreateOptions,
  Fetch,
  KeyRules,
  Mode,
  NormalizedOptions,
  NormalizedPolling,
  NormalizedRequestOptions,
  PaymentsClientOptions,
  Poll,
  PollingOptions,
  PollingRules,
  ReconcileOptions,
  RequestOptions,
  Transport,
  VerifyOptions,
  WaitOptions,
} from './options.ts';
import {
  type OptionsShape,
  optionalFunction,
  optionalNumber,
  optionalSignal,
  optionalValue,
  parseOptions,
  unchecked,
} from './parse-options.ts';
import { defaultFinalStatuses, defaultSchedule, type Schedule } from './schedule.ts';
import { MAX_TIMEOUT_MS } from './support/max-timeout.ts';
import { createRedact } from './support/redact.ts';
import { isPlainName } from './support/unknown-option.ts';
import { isObject } from './support/untrusted.ts';

type Headers = Readonly<Record<string, string>>;

/** What client and call have in common. */
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

/** The options of the client. */
const clientSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    apiKey: optionalValue<string | (() => string | Promise<string>)>(
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
export function normalizeOptions(options: PaymentsClientOptions): NormalizedOptions {
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
  const keyRules = { requiredMode: mode, isHttpToOthers: isHttpToOthers(new URL(baseUrl)) };
  if (typeof key === 'string') validateKeyMode(key, keyRules);
  const { id: redactReference } = createRedact(typeof key === 'string' ? [key] : []);
  return {
    apiKey: key,
    mode: typeof key === 'string' ? detectMode(key) : 'unknown',
    keyRules,
    baseUrl,
    timeout: given.timeout ?? 30_000,
    maxRetries: given.maxRetries ?? 2,
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

/**
 * Checks what a function returned as the key. No message shows any of it.
 *
 * @throws {ConfigurationError} if the key is missing, has a character that no key has, or is of the wrong mode.
 */
export function validateApiKey(key: unknown, rules: KeyRules): string {
  const valid = validateKeyForm(key);
  validateKeyMode(valid, rules);
  return valid;
}

/** @throws {ConfigurationError} if the key is missing, or has a character that no key has. */
function validateKeyForm(key: unknown): string {
  if (key === undefined || key === '') {
    throw new ConfigurationError(
      'There is no API key. Pass apiKey, or set the environment variable PAYMENTS_API_KEY.',
    );
  }
  if (typeof key !== 'string')
    throw new ConfigurationError('apiKey must be a string, or a function that returns one.');
  refuseUnexpanded('The API key', 'PAYMENTS_API_KEY', key);
  if (/^\s*["'`\u201c\u2018].*["'`\u201d\u2019]\s*$/s.test(key)) {
    throw new ConfigurationError(
      'The API key is in quotation marks. Some loaders of .env files keep them: remove them. Nothing was sent.',
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigurationError(
      'The API key has a space, a line break or a character that is not ASCII. Keys read from a file often end in a ' +
        'line break: trim it. Leave out "Bearer".',
    );
  }
  return key;
}

/** @throws {ConfigurationError} if the key is of a mode that the option `mode` or the base URL does not allow. */
function validateKeyMode(key: string, { requiredMode, isHttpToOthers }: KeyRules): void {
  if (requiredMode === 'live' && isTestKey(key))
    throw new ConfigurationError(
      "The API key is a test key (sk_test_…), but mode is 'live'. Nothing was sent. Give the live key.",
    );
  if (requiredMode === 'test' && !isTestKey(key))
    throw new ConfigurationError(
      "The API key is no test key (sk_test_…), but mode is 'test'. Nothing was sent. Give a test key.",
    );
  if (isHttpToOthers && !isTestKey(key))
    throw new ConfigurationError(
      'The API key is no test key (sk_test_…), and the baseUrl is http: others on the network could read the key. ' +
        'Nothing was sent. Use https, or a test key.',
    );
}

/** Returns the mode that the shape of a key shows (docs/reference/service.md, "Authentication"). */
export function detectMode(key: string): Mode {
  return isTestKey(key) ? 'test' : 'unknown';
}

export function isTestKey(key: string): boolean {
  return /^sk_test_./.test(key);
}

function validateBaseUrl(baseUrl: unknown, allowHttp: boolean): string {
  if (baseUrl === undefined || baseUrl === '') {
    throw new ConfigurationError(
      'There is no base URL. Pass baseUrl, such as https://payments.example/api/v1, or set PAYMENTS_BASE_URL.',
    );
  }
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl)) {
    throw new ConfigurationError('baseUrl must be an address such as https://payments.example/api/v1.');
  }
  refuseUnexpanded('The base URL', 'PAYMENTS_BASE_URL', baseUrl);
  const url = new URL(baseUrl);
  const { protocol, username, password, origin, pathname } = url;
  if (username || password) {
    throw new ConfigurationError(
      'baseUrl must have no user name or password in it: the key goes into apiKey.',
    );
  }
  if (/[?#]/.test(baseUrl)) throw new ConfigurationError('baseUrl must have no query and no fragment.');
  if (protocol !== 'https:' && (protocol !== 'http:' || (isHttpToOthers(url) && !allowHttp))) {
    throw new ConfigurationError(
      'baseUrl must begin with https://, or others on the network could read the key. http:// is for this machine, and ' +
        'for a sandbox with dangerouslyAllowHttp: true and a key sk_test_….',
    );
  }
  return origin + pathname.replace(/\/+$/, '');
}

/** Whether requests leave this machine unencrypted. */
function isHttpToOthers({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}

/** Whether only this machine can be reached under a host name or an address. An IPv6 one can be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host);
}

function isBrowser(): boolean {
  return typeof window !== 'undefined' && typeof window.document !== 'undefined';
}

/** @throws {ConfigurationError} if the environment cannot be read, as on Deno without the permission. */
function readEnv(name: string): string | undefined {
  try {
    return typeof process === 'undefined' ? undefined : process.env?.[name];
  } catch {
    const advice = `Pass it as an option, or run Deno with --allow-env=${name}.`;
    throw new ConfigurationError(`The environment variable ${name} cannot be read. ${advice}`);
  }
}

/** @throws {ConfigurationError} if a value is what a script or a template makes of a variable that is not set. */
function refuseUnexpanded(what: string, variable: string, value: string): void {
  if (!/^(?:undefined|null)$|\$\{.*\}/s.test(value)) return;
  throw new ConfigurationError(
    `${what} is the text undefined or null, or has a \${…} in it: is the variable ${variable} set? Nothing was sent.`,
  );
}

// The options of a call.

const requestShape = /* @__PURE__ */ (() =>
  ({ ...sharedShape, signal: optionalSignal }) satisfies OptionsShape<RequestOptions>)();

/** The options of `check`. */
export const requestOptionsSchema = /* @__PURE__ */ (() => z.strictObject(requestShape))();

/** `expect` is a part of the input, and checked with it. */
export const verifyOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    expect: unchecked<Expectation>(),
  } satisfies OptionsShape<VerifyOptions>))();

/** What the call means by its `idempotencyKey`, and what `extraBody` can be, depends on the operation. */
export const createOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    idempotencyKey: unchecked<string | null>(),
    extraBody: unchecked<Readonly<Record<string, unknown>>>(),
  } satisfies OptionsShape<CreateOptions>))();

/** Who resolves a key, and why, is checked with the resolution. */
export const resolveOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...requestShape,
    by: unchecked<string>(),
    reason: unchecked<string>(),
    revision: unchecked<string>(),
  }))();

/** Fills in the client's options for those that a call was not given. */
export function normalizeRequestOptions(
  { signal, timeout, maxRetries, headers }: RequestOptions,
  client: Omit<NormalizedOptions, 'apiKey'>,
): NormalizedRequestOptions {
  return {
    signal,
    timeout: timeout ?? client.timeout,
    maxRetries: maxRetries ?? client.maxRetries,
    headers: headers ? { ...client.headers, ...headers } : client.headers,
  };
}

// The options of polling and of a wait.

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

const isKnownStatus = (value: unknown) => transactionStatuses.some((status) => status === value);

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

const reconcileShape = /* @__PURE__ */ (() =>
  ({
    ...requestShape,
    ...scheduleShape,
    onPoll: optionalFunction<(poll: Poll) => void>('onPoll'),
  }) satisfies OptionsShape<ReconcileOptions>)();

export const reconcileOptionsSchema = /* @__PURE__ */ (() => z.strictObject(reconcileShape))();

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

function normalizePolling(options: PollingOptions = {}): NormalizedPolling {
  const given = parseOptions(pollingSchema, options, { prefix: 'polling.' });
  const { maxConcurrency = 64, maxRequestsPerSecond = 50, ...rules } = given;
  const defaults = { ...defaultSchedule, finalStatuses: defaultFinalStatuses };
  return { rules: normalizePollingRules(rules, defaults), maxConcurrency, maxRequestsPerSecond };
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

/** Names a read in the error of a wrong argument, so that its `outcome` is `null`: it says nothing about the money. */
export function runAsRead<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || error.operation !== undefined) throw error;
    throw new ConfigurationError(error.message, { operation: 'verify' });
  }
}
