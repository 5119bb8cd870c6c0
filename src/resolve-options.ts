/**
 * Checks the options of the client, of a call and of a wait, once each, and fills in every default. JavaScript lets
 * through what the types forbid: an option that cannot work must fail here, before anything is sent.
 */

import type { OperationName } from './api/operations.ts';
import { type KnownStatus, transactionStatuses } from './api/transaction.ts';
import { ConfigurationError } from './errors.ts';
import { createReporter } from './events.ts';
import type { Journal } from './journal/journal.ts';
import { isLoopback } from './loopback.ts';
import { MAX_TIMEOUT_MS } from './max-timeout.ts';
import type {
  CreateOptions,
  Fetch,
  KeyRules,
  Mode,
  PaymentsClientOptions,
  PollingOptions,
  PollingRules,
  RequestOptions,
  ResolvedOptions,
  ResolvedPolling,
  ResolvedRequestOptions,
  Transport,
  VerifyOptions,
  WaitOptions,
} from './options.ts';
import { createRedact } from './redact.ts';
import { defaultFinalStatuses, defaultSchedule, type Schedule } from './schedule.ts';
import { isPlainName, refuseUnknownOption } from './unknown-option.ts';
import { isObject, isPlainObject } from './untrusted.ts';

// The client's options.

const CLIENT_OPTIONS: Readonly<Record<keyof PaymentsClientOptions, true>> = {
  apiKey: true,
  baseUrl: true,
  mode: true,
  timeout: true,
  maxRetries: true,
  fetch: true,
  transport: true,
  headers: true,
  logger: true,
  onEvent: true,
  polling: true,
  journal: true,
  dangerouslyAllowBrowser: true,
  dangerouslyAllowHttp: true,
};

/**
 * Checks the client's options and fills in every default.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 */
export function resolveOptions(options: PaymentsClientOptions): ResolvedOptions {
  validateTypes(options);
  const { apiKey, baseUrl, mode, onEvent, logger, fetch, transport, polling, journal, ...others } = options;
  const { dangerouslyAllowBrowser, dangerouslyAllowHttp, ...shared } = others;
  if (isBrowser() && dangerouslyAllowBrowser !== true) {
    throw new ConfigurationError(
      'This is a browser: everyone who opens the page could read the secret key. Call the service from your server. ' +
        'For a demonstration with a test key, set dangerouslyAllowBrowser: true.',
    );
  }
  const given = apiKey ?? readEnv('PAYMENTS_API_KEY');
  const key = typeof given === 'function' ? given : validateKeyForm(given);
  const address = validateBaseUrl(baseUrl ?? readEnv('PAYMENTS_BASE_URL'), dangerouslyAllowHttp === true);
  const keyRules = { requiredMode: mode, isHttpToOthers: isHttpToOthers(new URL(address)) };
  if (typeof key === 'string') validateKeyMode(key, keyRules);
  const { id: redactReference } = createRedact(typeof key === 'string' ? [key] : []);
  return {
    apiKey: key,
    mode: typeof key === 'string' ? detectMode(key) : 'unknown',
    keyRules,
    baseUrl: address,
    ...resolveShared(shared, { timeout: 30_000, maxRetries: 2, headers: {} }, CLIENT_OPTIONS),
    fetch,
    transport,
    polling: resolvePolling(polling),
    report: createReporter(onEvent, logger, redactReference),
    redactReference,
    journal,
  };
}

function validateTypes(options: PaymentsClientOptions): void {
  if (!isPlainObject(options))
    throw new ConfigurationError('The options must be a plain object, such as { apiKey, baseUrl }.');
  const { mode, fetch, transport, onEvent, logger, polling, journal } = options;
  if (mode !== undefined && mode !== 'live' && mode !== 'test')
    throw new ConfigurationError("mode must be 'live' or 'test', or left out.");
  if (fetch !== undefined && typeof fetch !== 'function')
    throw new ConfigurationError('fetch must be a function.');
  if (transport !== undefined) validateTransport(transport, fetch);
  if (onEvent !== undefined && typeof onEvent !== 'function')
    throw new ConfigurationError('onEvent must be a function.');
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  if (logger !== undefined && !levels.every((level) => typeof logger?.[level] === 'function'))
    throw new ConfigurationError('logger must have the methods debug, info, warn and error, as console has.');
  if (polling !== undefined && !isObject(polling)) throw new ConfigurationError('polling must be an object.');
  if (journal !== undefined) validateJournal(journal);
}

function validateTransport(transport: Transport, fetch: Fetch | undefined): void {
  if (typeof transport?.send !== 'function')
    throw new ConfigurationError('transport must be a transport, such as undiciTransport().');
  if (fetch !== undefined) throw new ConfigurationError('Give fetch or transport, not both.');
}

function validateJournal(journal: Journal): void {
  const steps = ['claim', 'renew', 'complete', 'read'] as const;
  if (!steps.every((step) => typeof journal?.[step] === 'function'))
    throw new ConfigurationError('journal must be a journal, such as postgresJournal(pool).');
  if (!(journal.lease >= 100 && journal.lease <= MAX_TIMEOUT_MS))
    throw new ConfigurationError(
      'The lease of the journal must be milliseconds, at least 100 and under 2^31.',
    );
  if (journal.protocol?.version !== 1 || typeof journal.protocol.send !== 'function')
    throw new ConfigurationError(
      'The journal has no protocol that this client knows. Wrap a journal as { ...journal }, or give it `protocol` of ' +
        'payment-collection-client/journal, of the same version.',
    );
}

/**
 * Returns the key that a call was given; `null` for none. A key that is missing by mistake would silently charge twice.
 *
 * @throws {ConfigurationError} if the call does not state which it means.
 */
export function resolveIdempotencyKey(
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

function isBrowser(): boolean {
  return typeof window !== 'undefined' && typeof window.document !== 'undefined';
}

function readEnv(name: string): string | undefined {
  return typeof process === 'undefined' ? undefined : process.env?.[name];
}

// The options of a call.

const REQUEST_OPTIONS: Readonly<Record<keyof RequestOptions, true>> = {
  signal: true,
  timeout: true,
  maxRetries: true,
  headers: true,
};

const CREATE_OPTIONS: Readonly<Record<keyof CreateOptions, true>> = {
  ...REQUEST_OPTIONS,
  idempotencyKey: true,
  extraBody: true,
};

const VERIFY_OPTIONS: Readonly<Record<keyof VerifyOptions, true>> = { ...REQUEST_OPTIONS, expect: true };

/**
 * Returns the options of a call or of a wait, before any of them is read.
 *
 * @throws {ConfigurationError} if they are not a plain object.
 */
export function validateCallOptions<Options extends object>(options: Options): Options {
  if (isPlainObject(options)) return options;
  throw new ConfigurationError('The options of a call must be a plain object, such as { signal, timeout }.');
}

/**
 * Checks a call's options and fills in the client's.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 */
export function resolveRequestOptions(
  options: RequestOptions,
  client: ResolvedOptions,
  operation: OperationName,
): ResolvedRequestOptions {
  const { signal, ...shared } = options;
  try {
    const known = operation === 'verify' ? VERIFY_OPTIONS : CREATE_OPTIONS;
    return { signal: validateSignal(signal), ...resolveShared(shared, client, known) };
  } catch (error) {
    throw error instanceof ConfigurationError ? new ConfigurationError(error.message, { operation }) : error;
  }
}

/** @throws {ConfigurationError} if it is no AbortSignal. */
export function validateSignal(
  signal: AbortSignal | undefined,
  operation?: OperationName,
): AbortSignal | undefined {
  if (signal === undefined) return signal;
  const methods = ['throwIfAborted', 'addEventListener', 'removeEventListener'] as const;
  if (typeof signal?.aborted === 'boolean' && methods.every((method) => typeof signal[method] === 'function'))
    return signal;
  throw new ConfigurationError('signal must be an AbortSignal.', { operation });
}

type SharedOptions = Pick<ResolvedOptions, 'timeout' | 'maxRetries' | 'headers'>;

/** Resolves the options that client and call have in common. */
function resolveShared(
  options: Omit<RequestOptions, 'signal'>,
  defaults: SharedOptions,
  known: Readonly<Record<string, true>>,
): SharedOptions {
  const { timeout = defaults.timeout, maxRetries = defaults.maxRetries, headers, ...unknown } = options;
  refuseUnknownOption(unknown, known);
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new ConfigurationError('maxRetries must be a whole number, 0 or more.');
  }
  if (!(typeof timeout === 'number' && timeout > 0 && timeout <= MAX_TIMEOUT_MS)) {
    throw new ConfigurationError(`timeout must be milliseconds, more than 0 and at most ${MAX_TIMEOUT_MS}.`);
  }
  return { timeout, maxRetries, headers: mergeHeaders(defaults.headers, headers) };
}

function mergeHeaders(
  defaults: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return headers === undefined ? defaults : { ...defaults, ...validateHeaders(headers) };
}

/**
 * Returns the headers by names in lower case.
 *
 * @throws {ConfigurationError} if a header is reserved or cannot be sent.
 */
export function validateHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  if (typeof headers !== 'object' || Symbol.iterator in headers)
    throw new ConfigurationError('headers must be an object of names and values.');
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of entries) {
    if (RESERVED_HEADERS.includes(name))
      throw new ConfigurationError(`The header ${name} is set by the client itself.`);
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      throw new ConfigurationError('A header has a name that is not valid.');
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      const header = isPlainName(name) ? `The header ${name}` : 'A header';
      throw new ConfigurationError(`${header} must be a string without line breaks, in Latin-1.`);
    }
  }
  return Object.fromEntries(entries);
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

// The options of polling and of a wait.

const POLLING_OPTIONS: Readonly<Record<keyof PollingOptions, true>> = {
  initialDelay: true,
  minDelay: true,
  maxDelay: true,
  timeout: true,
  finalStatuses: true,
  maxConcurrency: true,
  maxRequestsPerSecond: true,
};

/**
 * Checks the client's polling options and fills in every default.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 */
function resolvePolling(options: PollingOptions = {}): ResolvedPolling {
  const { maxConcurrency = 64, maxRequestsPerSecond = 50, ...rules } = options;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    throw new ConfigurationError('polling.maxConcurrency must be a whole number, 1 or more.');
  }
  if (!isInRange(maxRequestsPerSecond, Number.MIN_VALUE, 1_000_000)) {
    throw new ConfigurationError('polling.maxRequestsPerSecond must be more than 0 and at most 1,000,000.');
  }
  const defaults = { ...defaultSchedule, finalStatuses: defaultFinalStatuses };
  return {
    rules: resolvePollingRules(rules, defaults, POLLING_OPTIONS, 'polling.'),
    maxConcurrency,
    maxRequestsPerSecond,
  };
}

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

type PollingRulesOptions = Schedule & { finalStatuses?: readonly KnownStatus[] | undefined };

/**
 * Checks what spaces and ends polls, by default that of a wait, and fills in `defaults`.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 */
export function resolvePollingRules(
  options: PollingRulesOptions,
  defaults: PollingRules,
  known: Readonly<Record<string, true>> = WAIT_OPTIONS,
  prefix = '',
): PollingRules {
  const {
    initialDelay = defaults.initialDelay,
    minDelay = defaults.minDelay,
    maxDelay = isDelay(minDelay, 1) ? Math.max(defaults.maxDelay, minDelay) : defaults.maxDelay,
    timeout = defaults.timeout,
    finalStatuses,
    ...unknown
  } = options;
  refuseUnknownOption(unknown, known, prefix);
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
  validateWaitTimeout(timeout);
  const finals = finalStatuses === undefined ? defaults.finalStatuses : validateFinalStatuses(finalStatuses);
  return { initialDelay, minDelay, maxDelay, timeout, finalStatuses: finals };
}

/** @throws {ConfigurationError} if it is no number above 0. Text from an environment variable would be appended, not added. */
export function validateWaitTimeout(timeout: number): void {
  if (!(typeof timeout === 'number' && timeout > 0))
    throw new ConfigurationError('The timeout of a wait must be milliseconds, more than 0.');
}

/** Returns a copy: what ends a wait must not change during the wait. */
function validateFinalStatuses(finalStatuses: readonly KnownStatus[]): readonly string[] {
  const finals: readonly unknown[] = Array.isArray(finalStatuses) ? [...finalStatuses] : [];
  if (!finals.includes('success')) {
    throw new ConfigurationError(
      "finalStatuses must be a list with 'success' in it: no status follows a payment.",
    );
  }
  return finals.map((given) => {
    const status = transactionStatuses.find((known) => known === given);
    if (status !== undefined) return status;
    throw new ConfigurationError(`finalStatuses must be some of ${transactionStatuses.join(', ')}.`);
  });
}

function isDelay(delay: number, least: number): boolean {
  return isInRange(delay, least, MAX_TIMEOUT_MS);
}

/** Checks the type too: text compares as the number in it, and a BigInt breaks the arithmetic that follows. */
function isInRange(value: number, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

/** Names the read in the error of a wrong option, so that its `outcome` is `null`: it says nothing about the money. */
export function asRead<Result>(resolve: () => Result): Result {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || error.operation !== undefined) throw error;
    throw new ConfigurationError(error.message, { operation: 'verify' });
  }
}
