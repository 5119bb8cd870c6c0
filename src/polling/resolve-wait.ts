import { MIN_EPOCH_MS } from '../api/input.ts';
import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { ConfigurationError } from '../errors.ts';
import { validateInput } from '../http/call.ts';
import type { Poll, PollingRules, WaitOptions } from '../options.ts';
import {
  asRead,
  resolvePollingRules,
  validateCallOptions,
  validateHeaders,
  validateSignal,
  validateWaitTimeout,
} from '../resolve-options.ts';

/** A wait whose reference and options were validated, with every default filled in. */
export interface ResolvedWait {
  reference: string;
  rules: PollingRules;
  timeout: number;
  startedAt: number | undefined;
  signal: AbortSignal | undefined;
  headers: Readonly<Record<string, string>> | undefined;
  expect: { amount: number; currency?: string | undefined } | undefined;
  onPoll: ((poll: Poll) => void) | undefined;
  /** Called for each transaction that does not end the wait. */
  onTransaction: ((transaction: Transaction) => void) | undefined;
  until: WaitEnd;
}

/**
 * What ends a wait: a final status, the first transaction whatever its status, or the end of the first poll, also with a
 * temporary error.
 */
type WaitEnd = 'final' | 'transaction' | 'response';

/**
 * Validates the options of one wait and fills in the client's. Nothing of it is validated again at a poll.
 *
 * @throws {InvalidInputError} if the reference or `expect` is wrong.
 * @throws {ConfigurationError} if an option is wrong. It names the operation, so that its outcome is `null`.
 */
export function resolveWait(reference: string, options: WaitOptions, defaults: PollingRules): ResolvedWait {
  return asRead(() => resolveWaitOptions(reference, validateCallOptions(options), defaults));
}

function resolveWaitOptions(reference: string, options: WaitOptions, defaults: PollingRules): ResolvedWait {
  const {
    signal,
    timeout = defaults.timeout,
    startedAt,
    onPoll,
    expect,
    headers,
    maxRetries: _,
    ...rules
  } = options;
  const request = validateInput(verify, { reference, expect });
  validateWaitTimeout(timeout);
  if (startedAt !== undefined && !(Number.isFinite(startedAt) && startedAt >= MIN_EPOCH_MS)) {
    throw new ConfigurationError(
      'startedAt must be milliseconds since 1970, as Date.now() returns: not seconds. Nothing was sent.',
    );
  }
  return {
    reference: request.reference,
    rules: Object.keys(rules).length === 0 ? defaults : resolvePollingRules(rules, defaults),
    timeout,
    startedAt,
    signal: validateSignal(signal),
    headers: headers === undefined || headers === null ? undefined : validateHeaders(headers),
    expect: request.expect,
    onPoll,
    onTransaction: undefined,
    until: 'final',
  };
}
