import { RateLimitError } from '../api-errors.ts';
import type { Operation } from '../contract/operation.ts';
import { ClosedError, ConfigurationError, PaymentsError } from '../errors.ts';
import type { CreateOptions, ResolvedOptions, ResolvedRequestOptions } from '../options.ts';
import type { AnyTransaction } from '../request-errors.ts';
import { resolveRequestOptions } from '../resolve-options.ts';
import { type Answer, type Call, subjectOf, tryOnce } from './attempt.ts';
import { sleep } from './deadline.ts';
import { eitherSignal } from './either-signal.ts';
import { fetchTransport } from './exchange.ts';
import { bodyOf, checkedInput } from './request.ts';
import { delayBeforeRetry } from './retry.ts';

/**
 * Checks everything about a call before anything of it is sent.
 *
 * @throws InvalidInputError, ConfigurationError
 */
export function prepare<Input, Request extends object, Result extends AnyTransaction>(
  client: ResolvedOptions,
  operation: Operation<Input, Request, Result>,
  input: Input,
  { extraBody, ...options }: Omit<CreateOptions, 'idempotencyKey'>,
): Call<Input, Request, Result> {
  if (operation.method === 'GET' && extraBody !== undefined) {
    throw new ConfigurationError('A read has no body: it takes no extraBody.', { operation: operation.name });
  }
  const request = checkedInput(operation, input);
  const body = operation.method === 'POST' ? bodyOf(operation, request, extraBody) : undefined;
  return { operation, request, body, ...resolveRequestOptions(options, client, operation.name) };
}

/** Sends a call's request, again where that is safe, and gives its answer. */
export type Send = <Input, Request extends object, Result extends AnyTransaction>(
  call: Call<Input, Request, Result>,
) => Promise<Answer<Result>>;

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
  const recentKeys: string[] = [];
  return (given) => {
    const beforeSending = () => {
      if (closing.aborted) throw new ClosedError(given.operation.name);
      given.beforeSending?.();
    };
    const call = { ...given, beforeSending };
    return retrying(client, closing, call, (attempt) =>
      tryOnce(transport, client, call, attempt, recentKeys).catch((error) => {
        if (error instanceof RateLimitError) onRateLimited(error.retryAfter, subjectOf(call).reference);
        throw error;
      }),
    );
  };
}

async function retrying<Result>(
  client: ResolvedOptions,
  closing: AbortSignal,
  call: Parameters<typeof subjectOf>[0] & ResolvedRequestOptions,
  tryOnce: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryOnce(attempt);
    } catch (error) {
      if (!(error instanceof PaymentsError) || call.signal?.aborted) throw error;
      const delay = delayBeforeRetry(error, attempt, call.maxRetries);
      if (delay === null) throw error;
      client.report({ type: 'retry', ...subjectOf(call), attempt, delay, error: error.code });
      const { signal, release } = eitherSignal(call.operation.name, call.signal, closing);
      await sleep(delay, signal).finally(release);
    }
  }
}
