import type { OperationName } from './api/operations.ts';
import { ConfigurationError } from './errors.ts';
import { createReporter } from './events.ts';
import type { Journal } from './journal/journal.ts';
import { MAX_TIMEOUT_MS } from './max-timeout.ts';
import type {
  CreateOptions,
  Mode,
  PaymentsClientOptions,
  RequestOptions,
  ResolvedOptions,
  ResolvedRequestOptions,
  VerifyOptions,
} from './options.ts';
import { resolvePolling } from './options.ts';
import { createRedact } from './redact.ts';
import { isPlainName, refuseUnknownOption } from './unknown-option.ts';
import { isPlainObject } from './untrusted.ts';

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
};

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

/** Checks the client's options once and fills in every default. */
export function resolveOptions(options: PaymentsClientOptions): ResolvedOptions {
  validateTypes(options);
  const { apiKey, baseUrl, mode, onEvent, logger, fetch, transport, polling, journal, ...others } = options;
  const { dangerouslyAllowBrowser, ...rest } = others;
  if (isBrowser() && dangerouslyAllowBrowser !== true) {
    throw new ConfigurationError(
      'This is a browser: everyone who opens the page could read the secret key. Call the service from your server. ' +
        'For a demonstration with a test key, set dangerouslyAllowBrowser: true.',
    );
  }
  const key = apiKey ?? readEnv('PAYMENTS_API_KEY');
  const { id: showReference } = createRedact(typeof key === 'string' && key !== '' ? [key] : []);
  return {
    apiKey: typeof key === 'function' ? key : validateApiKey(key, mode),
    mode: typeof key === 'string' ? modeOf(key) : 'unknown',
    requiredMode: mode,
    baseUrl: checkedBaseUrl(baseUrl ?? readEnv('PAYMENTS_BASE_URL')),
    ...resolveShared(rest, { timeout: 30_000, maxRetries: 2, headers: {} }, CLIENT_OPTIONS),
    fetch,
    transport,
    polling: resolvePolling(polling),
    report: createReporter(onEvent, logger, showReference),
    showReference,
    journal,
  };
}

/** What JavaScript lets through: the client would be silent about it, or fail only once it has sent something. */
function validateTypes(options: PaymentsClientOptions): void {
  if (!isPlainObject(options))
    throw new ConfigurationError('The options must be a plain object, such as { apiKey, baseUrl }.');
  const { mode, fetch, onEvent, logger, polling, journal } = options;
  if (mode !== undefined && mode !== 'live' && mode !== 'test')
    throw new ConfigurationError("mode must be 'live' or 'test', or left out.");
  if (fetch !== undefined && typeof fetch !== 'function')
    throw new ConfigurationError('fetch must be a function.');
  if (onEvent !== undefined && typeof onEvent !== 'function')
    throw new ConfigurationError('onEvent must be a function.');
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  if (logger !== undefined && !levels.every((level) => typeof logger?.[level] === 'function'))
    throw new ConfigurationError('logger must have the methods debug, info, warn and error, as console has.');
  if (polling !== undefined && (typeof polling !== 'object' || polling === null))
    throw new ConfigurationError('polling must be an object.');
  checkTransport(options);
  checkJournal(journal);
}

function checkTransport({ fetch, transport }: PaymentsClientOptions): void {
  if (transport === undefined) return;
  if (typeof transport?.send !== 'function')
    throw new ConfigurationError('transport must be a transport, such as undiciTransport().');
  if (fetch !== undefined) throw new ConfigurationError('Give fetch or transport, not both.');
}

function checkJournal(journal: Journal | undefined): void {
  if (journal === undefined) return;
  const steps = ['claim', 'renew', 'complete', 'read'] as const;
  if (!steps.every((step) => typeof journal?.[step] === 'function'))
    throw new ConfigurationError('journal must be a journal, such as postgresJournal(pool).');
  if (!(journal.lease >= 100 && journal.lease <= MAX_TIMEOUT_MS))
    throw new ConfigurationError(
      'The lease of the journal must be milliseconds, at least 100 and under 2^31.',
    );
}

/** What a caller without types may pass in the place of a call's options. */
export function assertOptions<Options extends object>(options: Options): Options {
  if (isPlainObject(options)) return options;
  throw new ConfigurationError('The options of a call must be a plain object, such as { signal, timeout }.');
}

/** Checks a call's options and fills in the client's. */
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

type Shared = Pick<ResolvedOptions, 'timeout' | 'maxRetries' | 'headers'>;

/** The options that client and call have in common. */
function resolveShared(
  options: Omit<RequestOptions, 'signal'>,
  defaults: Shared,
  known: Readonly<Record<string, true>>,
): Shared {
  const { timeout = defaults.timeout, maxRetries = defaults.maxRetries, headers, ...unknown } = options;
  refuseUnknownOption(unknown, known);
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new ConfigurationError('maxRetries must be a whole number, 0 or more.');
  }
  if (!(typeof timeout === 'number' && timeout > 0 && timeout <= MAX_TIMEOUT_MS)) {
    throw new ConfigurationError(`timeout must be milliseconds, more than 0 and at most ${MAX_TIMEOUT_MS}.`);
  }
  return { timeout, maxRetries, headers: mergedHeaders(defaults.headers, headers) };
}

function mergedHeaders(
  defaults: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return headers === undefined ? defaults : { ...defaults, ...validateHeaders(headers) };
}

/** What the client or fetch itself has to set: a wrong one breaks the request or sends the key astray. */
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

/** Checks the form of a key, and its mode against the option `mode`. No message shows any of it. */
export function validateApiKey(key: unknown, requiredMode?: 'live' | 'test'): string {
  if (key === undefined || key === '') {
    throw new ConfigurationError(
      'There is no API key. Pass apiKey, or set the environment variable PAYMENTS_API_KEY.',
    );
  }
  if (typeof key !== 'string')
    throw new ConfigurationError('apiKey must be a string, or a function that gives one.');
  if (/^\s*["'`\u201c\u2018].*["'`\u201d\u2019]\s*$/s.test(key)) {
    throw new ConfigurationError(
      'The API key is in quotation marks. Some loaders of .env files leave them on: take them off. Nothing was sent.',
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigurationError(
      'The API key has a space, a line break or a character that is not ASCII. Keys read from a file often end in a ' +
        'line break: trim it. Leave out "Bearer".',
    );
  }
  if (requiredMode === 'live' && isTestKey(key))
    throw new ConfigurationError(
      "The API key is a test key (sk_test_…), but mode is 'live'. Nothing was sent. Give the live key.",
    );
  if (requiredMode === 'test' && !isTestKey(key))
    throw new ConfigurationError(
      "The API key is no test key (sk_test_…), but mode is 'test'. Nothing was sent. Give a test key.",
    );
  return key;
}

export const modeOf = (key: string): Mode => (isTestKey(key) ? 'test' : 'unknown');

/** SPEC.md, 5: the shape of a test key is shown, that of a live key is not. */
export function isTestKey(key: string): boolean {
  return /^sk_test_./.test(key);
}

function checkedBaseUrl(baseUrl: unknown): string {
  if (baseUrl === undefined || baseUrl === '') {
    throw new ConfigurationError(
      'There is no base URL. Pass baseUrl, such as https://payments.example/api/v1, or set PAYMENTS_BASE_URL.',
    );
  }
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl)) {
    throw new ConfigurationError('baseUrl must be an address such as https://payments.example/api/v1.');
  }
  const { protocol, hostname, username, password, origin, pathname } = new URL(baseUrl);
  if (username || password) {
    throw new ConfigurationError(
      'baseUrl must have no user name or password in it: the key goes into apiKey.',
    );
  }
  if (/[?#]/.test(baseUrl)) throw new ConfigurationError('baseUrl must have no query and no fragment.');
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname))) {
    throw new ConfigurationError(
      'baseUrl must begin with https:// so that nobody on the way reads the key. http:// is for this machine only.',
    );
  }
  return origin + pathname.replace(/\/+$/, '');
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function isBrowser(): boolean {
  return typeof window !== 'undefined' && typeof window.document !== 'undefined';
}

function readEnv(name: string): string | undefined {
  return typeof process === 'undefined' ? undefined : process.env?.[name];
}
