import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { APIError, RateLimitError } from '../errors.ts';
import type { CallResult } from '../http/attempt.ts';
import type { NormalizedOptions, PollingRules } from '../options.ts';
import { isFinal } from '../schedule.ts';
import { limitRetryAfter, MAX_BACKOFF } from './limits.ts';

/** The result of one check: plain JSON, made for job queues and durable engines. */
export interface CheckResult {
  reference: string;
  status: Transaction['status'];
  /** Whether the status is final: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` names others. */
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

/**
 * Builds the call of one poll. Its reference and headers were validated when the wait started. It has no retries: the
 * schedule is its retry.
 */
export function createPollCall(
  client: Pick<NormalizedOptions, 'timeout' | 'headers'>,
  { reference, headers }: { reference: string; headers: Readonly<Record<string, string>> | undefined },
  signal: AbortSignal,
) {
  return {
    operation: verify,
    request: { reference },
    body: undefined,
    signal,
    timeout: client.timeout,
    maxRetries: 0,
    headers: { ...client.headers, ...headers },
  };
}

/** Sends the request of one poll. */
export type SendPoll = (call: ReturnType<typeof createPollCall>) => Promise<CallResult<Transaction>>;

/** How a poll ended. */
export type PollResult =
  | { callResult: CallResult<Transaction>; error: undefined }
  | { callResult: undefined; error: unknown };

/** Returns how long the service asked to leave this reference alone, in milliseconds. */
export function getRequestedPause({ callResult, error }: PollResult): number {
  if (error instanceof RateLimitError) return limitRetryAfter(error.retryAfter);
  const retryAfter = callResult?.retryAfter ?? (error instanceof APIError ? error.retryAfter : undefined);
  return Math.min(retryAfter ?? 0, MAX_BACKOFF);
}
