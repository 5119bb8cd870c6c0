/** The API key: which keys a client can use, and how it gets one for each request. */

import type { OperationName } from './api/operations.ts';
import { ConfigurationError } from './errors.ts';
import { refuseUnexpanded } from './parse-options.ts';
import { redactUnknownSecrets } from './support/redact.ts';
import { ensureInspectable, sanitizeError } from './support/sanitize-error.ts';
import { CallerAborted, DeadlineExceeded, withTimeout } from './support/timing.ts';

/** The key, or the caller's function that returns it. */
export type ApiKeySource = string | (() => string | Promise<string>);

/** The mode that the shape of a key shows. The shape of a live key is not documented. */
export type DetectedMode = 'test' | 'unknown';

export interface ApiKeyRules {
  readonly requiredMode: 'live' | 'test' | undefined;
  /** Whether the base URL is http to another machine: only a test key is sent there. */
  readonly isHttpToOthers: boolean;
}

interface KeyRequest {
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the API key, or asks the caller's function for it.
 *
 * @throws {ConfigurationError} if the caller's function fails or is late, or if the key cannot work. Nothing was sent.
 */
export function resolveApiKey(
  { apiKey, apiKeyRules }: { readonly apiKey: ApiKeySource; readonly apiKeyRules: ApiKeyRules },
  operation: OperationName,
  request: KeyRequest,
): string | Promise<string> {
  return typeof apiKey === 'string' ? apiKey : askForKey(apiKey, apiKeyRules, operation, request);
}

/** The key might come from anywhere and take long, so `timeout` bounds it as it bounds a request. */
async function askForKey(
  apiKey: () => string | Promise<string>,
  apiKeyRules: ApiKeyRules,
  operation: OperationName,
  { timeout, signal }: KeyRequest,
): Promise<string> {
  try {
    return validateApiKey(await withTimeout(timeout, signal, async () => apiKey()), apiKeyRules);
  } catch (thrown) {
    const error = ensureInspectable(thrown);
    if (error instanceof CallerAborted) throw error.reason;
    if (error instanceof ConfigurationError)
      throw new ConfigurationError(redactUnknownSecrets(error.message), { operation });
    const isLate = error instanceof DeadlineExceeded;
    const problem = isLate ? `returned no key within ${timeout} ms` : 'failed';
    const cause = isLate ? undefined : sanitizeError(error, redactUnknownSecrets);
    throw new ConfigurationError(`The apiKey function ${problem}, so nothing was sent.`, {
      operation,
      cause,
      retryable: true,
    });
  }
}

/**
 * Checks what a function returned as the key. No message shows any of it.
 *
 * @throws {ConfigurationError} if the key is missing, has a character that no key has, or is of the wrong mode.
 */
function validateApiKey(key: unknown, rules: ApiKeyRules): string {
  const valid = validateKeyForm(key);
  validateKeyMode(valid, rules);
  return valid;
}

/** @throws {ConfigurationError} if the key is missing, or has a character that no key has. */
export function validateKeyForm(key: unknown): string {
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
export function validateKeyMode(key: string, { requiredMode, isHttpToOthers }: ApiKeyRules): void {
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
export function detectMode(key: string): DetectedMode {
  return isTestKey(key) ? 'test' : 'unknown';
}

export function isTestKey(key: string): boolean {
  return /^sk_test_./.test(key);
}
