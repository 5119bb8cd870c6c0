import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { validateInput } from '../http/call.ts';
import {
  normalizePollingRules,
  type Poll,
  type PollingRules,
  type WaitOptions,
  waitOptionsSchema,
} from '../options.ts';
import { parseOptions } from '../parse-options.ts';

/** A wait whose reference and options were validated, with every default filled in. */
export interface NormalizedWait {
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
export function normalizeWait(
  reference: string,
  options: WaitOptions,
  defaults: PollingRules,
): NormalizedWait {
  const given = parseOptions(waitOptionsSchema, options, { operation: 'verify' });
  return createWait(reference, given, defaults);
}

/**
 * Fills in what spaces and ends the polls, for options that were checked. Waits without such options share one object.
 *
 * @throws {InvalidInputError} if the reference or `expect` is wrong.
 * @throws {ConfigurationError} if `minDelay` is more than `maxDelay`.
 */
export function createWait(
  reference: string,
  { signal, timeout, startedAt, onPoll, expect, headers, maxRetries: _, ...rules }: WaitOptions,
  defaults: PollingRules,
): NormalizedWait {
  const request = validateInput(verify, { reference, expect });
  const hasRules = Object.values(rules).some((rule) => rule !== undefined);
  return {
    reference: request.reference,
    rules: hasRules ? normalizePollingRules(rules, defaults, 'verify') : defaults,
    timeout: timeout ?? defaults.timeout,
    startedAt,
    signal,
    headers,
    expect: request.expect,
    onPoll,
    onTransaction: undefined,
    until: 'final',
  };
}
