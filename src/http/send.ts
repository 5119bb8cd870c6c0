import {
  type AnyTransaction,
  APIError,
  ClosedError,
  OutcomeUnknownError,
  PaymentsError,
  RateLimitError,
} from '../errors.ts';
import type { ResolvedOptions, ResolvedRequestOptions } from '../options.ts';
import { linkSignals, sleep } from '../timing.ts';
import { type CallResult, eventContext, type Recent, sendAttempt } from './attempt.ts';
import type { Call } from './call.ts';
import { fetchTransport } from './transport.ts';

/** Sends a call's request, again where that is safe, and gives its answer. */
export type Send = <Input, Request extends object, Result extends AnyTransaction>(
  call: Call<Input, Request, Result>,
) => Promise<CallResult<Result>>;

/**
 * `onRateLimited` hears of each 429: its Retry-After in milliseconds, and the reference that was asked about. Once `closing` is aborted nothing is sent, and
 * no pause before another try goes on.
 */
export function createSend(
  client: ResolvedOptions,
  closing: AbortSignal,
  onRateLimited: (retryAfter: number | undefined, reference: string | undefined) => void,
): Send {
  const transport = client.transport ?? fetchTransport(client.fetch);
  const recent: Recent = { apiKeys: [], requestIds: new Set() };
  return (given) => {
    const beforeSending: Call<unknown, object, unknown>['beforeSending'] = (sending) => {
      if (closing.aborted) throw new ClosedError(given.operation.name);
      given.beforeSending?.(sending);
    };
    const call = { ...given, beforeSending };
    return withRetries(client, closing, call, (attempt) =>
      sendAttempt(transport, client, call, attempt, recent).catch((error) => {
        const fault = error instanceof OutcomeUnknownError ? error.cause : error;
        if (fault instanceof RateLimitError) onRateLimited(fault.retryAfter, eventContext(call).reference);
        throw error;
      }),
    );
  };
}

async function withRetries<Result>(
  client: ResolvedOptions,
  closing: AbortSignal,
  call: Parameters<typeof eventContext>[0] & ResolvedRequestOptions,
  tryOnce: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryOnce(attempt);
    } catch (error) {
      if (!(error instanceof PaymentsError) || call.signal?.aborted) throw error;
      const delay = retryDelay(error, attempt, call.maxRetries);
      if (delay === null) throw error;
      client.report({ type: 'retry', ...eventContext(call), attempt, delay, error: error.code });
      const { signal, release } = linkSignals(
        call.signal,
        closing,
        () => new ClosedError(call.operation.name),
      );
      await sleep(delay, signal).finally(release);
    }
  }
}

const FIRST_DELAY = 500;
const LONGEST_DELAY = 8_000;

/** A call does not sleep longer than this for a Retry-After: it fails at once, with `retryAfter` on the error. */
const MAX_RETRY_AFTER = 30_000;

/** How long to wait before the next try, in milliseconds, or `null` where there must not be one. */
function retryDelay(error: PaymentsError, attempt: number, maxRetries: number): number | null {
  // A claim that was lost is not found again by waiting.
  if (!error.retryable || error.code === 'journal_error' || attempt > maxRetries) return null;
  const retryAfter = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  if (retryAfter > MAX_RETRY_AFTER) return null;
  const jittered = Math.random() * Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempt - 1));
  return Math.round(retryAfter + jittered);
}
