import type { OperationName } from '../api/operations.ts';
import {
  type AnyTransaction,
  APIError,
  ClosedError,
  OutcomeUnknownError,
  PaymentsError,
  RateLimitError,
} from '../errors.ts';
import type { NormalizedOptions, NormalizedRequestOptions } from '../options.ts';
import { linkSignals, sleep } from '../support/timing.ts';
import { stringField } from '../support/untrusted.ts';
import { type CallResult, type Sender, sendAttempt, type Target } from './attempt.ts';
import type { Call } from './call.ts';
import type { RequestIds } from './request-id.ts';
import { fetchTransport } from './transport.ts';

/** Sends a call's request, retries it if that is safe, and returns the result. */
export type Send = <Input, Request extends object, Result extends AnyTransaction>(
  call: Call<Input, Request, Result>,
) => Promise<CallResult<Result>>;

/**
 * Creates the one {@link Send} of a client.
 *
 * @param closing once it is aborted, nothing is sent, and a pause before a retry ends.
 * @param onRateLimited is called for each 429, with its Retry-After in milliseconds.
 */
export function createSend(
  client: NormalizedOptions,
  requestIds: RequestIds,
  closing: AbortSignal,
  onRateLimited: (retryAfter: number | undefined) => void,
): Send {
  const transport = client.transport ?? fetchTransport(client.fetch);
  const sender: Sender = { client, transport, closing, recentKeys: [], requestIds };
  return async (call) => {
    const target = findTarget(client.baseUrl, call);
    const { subject } = target;
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendAttempt(sender, call, target, attempt);
      } catch (error) {
        const rateLimit = findRateLimit(error);
        if (rateLimit) onRateLimited(rateLimit.retryAfter);
        const delay = retryDelay(error, attempt, call);
        if (delay === null || !(error instanceof PaymentsError)) throw error;
        client.report({ type: 'retry', ...subject, attempt, delay, error: error.code });
        await pause(delay, call.signal, closing, subject.operation);
      }
    }
  };
}

/** A reference has passed its schema, so it cannot change the path. */
function findTarget<Input, Request extends object, Result>(
  baseUrl: string,
  { operation, request }: Call<Input, Request, Result>,
): Target {
  const { name, path } = operation;
  const reference = stringField(request, 'reference');
  return {
    url: `${baseUrl}/${reference === undefined ? path : path.replace(':reference', encodeURIComponent(reference))}`,
    subject: reference === undefined ? { operation: name } : { operation: name, reference },
  };
}

function findRateLimit(error: unknown): RateLimitError | undefined {
  const cause = error instanceof OutcomeUnknownError ? error.cause : error;
  return cause instanceof RateLimitError ? cause : undefined;
}

const FIRST_DELAY = 500;
const MAX_DELAY = 8_000;

/** A call does not sleep longer for a Retry-After, in milliseconds. It fails at once, with `retryAfter` on the error. */
const MAX_RETRY_AFTER = 30_000;

/** Returns the delay before the next attempt in milliseconds, or `null` if there must not be another attempt. */
function retryDelay(
  error: unknown,
  attempt: number,
  { signal, maxRetries }: Pick<NormalizedRequestOptions, 'signal' | 'maxRetries'>,
): number | null {
  if (!(error instanceof PaymentsError && error.retryable) || signal?.aborted || attempt > maxRetries)
    return null;
  // A lost claim does not come back.
  if (error.code === 'journal_error') return null;
  const retryAfter = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  if (retryAfter > MAX_RETRY_AFTER) return null;
  const jittered = Math.random() * Math.min(MAX_DELAY, FIRST_DELAY * 2 ** (attempt - 1));
  return Math.round(retryAfter + jittered);
}

async function pause(
  delay: number,
  own: AbortSignal | undefined,
  closing: AbortSignal,
  operation: OperationName,
): Promise<void> {
  const { signal, release } = linkSignals(own, closing, () => new ClosedError(operation));
  await sleep(delay, signal).finally(release);
}
