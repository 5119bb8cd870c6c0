import { RateLimitError } from '../api-errors.ts';
import type { Operation } from '../contract/operation.ts';
import { ClosedError, ConfigurationError, PaymentsError } from '../errors.ts';
import type { ResolvedOptions, ResolvedRequestOptions, UnkeyedOptions } from '../options.ts';
import { type AnyTransaction, OutcomeUnknownError } from '../request-errors.ts';
import { resolveRequestOptions } from '../resolve-options.ts';
import { type Call, type CallResult, eventContext, type Recent, sendAttempt } from './attempt.ts';
import { sleep } from './deadline.ts';
import { linkSignals } from './either-signal.ts';
import { fetchTransport } from './exchange.ts';
import { buildBody, validateInput } from './request.ts';
import { retryDelay } from './retry.ts';
import { refuseOldRuntime } from './single-use.ts';

/**
 * Checks everything about a call before anything of it is sent.
 *
 * @throws InvalidInputError, ConfigurationError
 */
export function prepareCall<Input, Request extends object, Result extends AnyTransaction>(
  client: ResolvedOptions,
  operation: Operation<Input, Request, Result>,
  input: Input,
  { extraBody, ...options }: UnkeyedOptions,
): Call<Input, Request, Result> {
  if (operation.method === 'GET' && extraBody !== undefined) {
    throw new ConfigurationError('A read has no body: it takes no extraBody.', { operation: operation.name });
  }
  if (operation.method === 'POST' && !client.transport) refuseOldRuntime(operation.name);
  const request = validateInput(operation, input);
  const body = operation.method === 'POST' ? buildBody(operation, request, extraBody) : undefined;
  return { operation, request, body, ...resolveRequestOptions(options, client, operation.name) };
}

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
      const { signal, release } = linkSignals(call.operation.name, call.signal, closing);
      await sleep(delay, signal).finally(release);
    }
  }
}
