import { MIN_EPOCH_MS } from '../api/input.ts';
import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { ConfigurationError } from '../errors.ts';
import type { CallResult } from '../http/attempt.ts';
import { validateInput } from '../http/call.ts';
import type { PollingRules, WaitOptions } from '../options.ts';
import { redactReference } from '../redact.ts';
import {
  resolvePollingRules,
  validateHeaders,
  validateSignal,
  validateWaitTimeout,
} from '../resolve-options.ts';
import { isFinal } from '../schedule.ts';
import type { ResolvedWait } from './poll-group.ts';

/** Checks a wait's options once and fills in the client's. */
export function resolveWait(
  reference: string,
  options: WaitOptions,
  client: PollingRules,
  showReference: (reference: string) => string = redactReference,
): ResolvedWait {
  const {
    signal,
    timeout = client.timeout,
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
      'startedAt must be milliseconds since 1970, as Date.now() gives: not seconds.',
    );
  }
  const shown = showReference(request.reference);
  return {
    reference: request.reference,
    // One more field would cost every wait its memory.
    ...(shown === request.reference ? {} : { shown }),
    rules: Object.keys(rules).length === 0 ? client : resolvePollingRules(rules, client),
    timeout,
    startedAt,
    signal: validateSignal(signal),
    headers: headers === undefined || headers === null ? undefined : validateHeaders(headers),
    expect: request.expect,
    onPoll,
    once: false,
    onTransaction: undefined,
  };
}

/** What one look gives: plain JSON, made for job queues and durable engines. */
export interface CheckResult {
  reference: string;
  status: Transaction['status'];
  /** Whether nothing more is expected: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` says else. */
  final: boolean;
  transaction: Transaction;
  /** How long the service asked to wait before the next check, in milliseconds. */
  retryAfter?: number;
}

export function toCheckResult(
  { result: transaction, retryAfter }: CallResult<Transaction>,
  { finalStatuses }: PollingRules,
): CheckResult {
  const { reference, status } = transaction;
  const final = isFinal(status, finalStatuses);
  return { reference, status, final, transaction, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
