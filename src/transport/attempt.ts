import type { Operation, OperationName } from '../contract/operation.ts';
import { ConfigurationError, PaymentsError } from '../errors.ts';
import type { ResolvedOptions, ResolvedRequestOptions, Transport } from '../options.ts';
import { inspectable, printable } from '../printable.ts';
import { createRedact, type Redact, withoutSecrets } from '../redact.ts';
import type { AnyTransaction } from '../request-errors.ts';
import { checkedKey, isTestKey } from '../resolve-options.ts';
import { Aborted, TimedOut, within } from './deadline.ts';
import { requestIdIn } from './error-answer.ts';
import { unexpectedFault } from './failures.ts';
import { noticeClosedConnections } from './pending-closes.ts';
import { Received } from './received.ts';
import { headersOf, pathOf, textField } from './request.ts';
import { retryAfterIn } from './retry.ts';
import { settle } from './settle.ts';

/** A call that has passed every check, ready to be tried. */
export interface Call<Input, Request extends object, Result> extends ResolvedRequestOptions {
  operation: Operation<Input, Request, Result>;
  request: Request;
  body: string | undefined;
  /** The call's key as it may be printed, if it has one. */
  idempotencyKey?: string | undefined;
  /** Called before each request leaves, with the API key that it carries; if it throws, nothing is sent. */
  beforeSending?: ((apiKey: string) => void) | undefined;
}

/** A result, and what its answer said about asking again. */
export interface Answer<Result> {
  result: Result;
  /** The answer's Retry-After, in milliseconds. */
  retryAfter: number | undefined;
  /** Takes out what may be neither printed nor stored: the key that was used, and the customer's phone and email. */
  redact: () => Redact;
}

/** What an event is about. */
export function subjectOf({ operation, request }: { operation: { name: OperationName }; request: object }) {
  const reference = textField(request, 'reference');
  return { operation: operation.name, ...(reference === undefined ? {} : { reference }) };
}

/** One try: one request, and its answer or what came instead of it. */
export async function tryOnce<Input, Request extends object, Result extends AnyTransaction>(
  transport: Transport,
  client: ResolvedOptions,
  call: Call<Input, Request, Result>,
  attempt: number,
  recentKeys: string[],
): Promise<Answer<Result>> {
  const { operation, request, body, signal, timeout } = call;
  signal?.throwIfAborted();
  const apiKey = await currentKey(client, operation.name, call);
  remember(apiKey, recentKeys);
  if (body !== undefined) await noticeClosedConnections();
  signal?.throwIfAborted();
  call.beforeSending?.(apiKey);

  const subject = subjectOf(call);
  const headers = headersOf(call.headers, apiKey, body !== undefined);
  const url = `${client.baseUrl}/${pathOf(operation, subject.reference)}`;
  const received = new Received();
  const began = performance.now();
  let thrown: unknown;
  let handedOn = false;
  client.report({ type: 'request', ...subject, attempt });
  try {
    await within(timeout, signal, async (end) => {
      handedOn = true;
      await transport.exchange({ method: operation.method, url, headers, body, signal: end }, received);
    });
  } catch (fault) {
    thrown = inspectable(fault) ?? new Error('fetch failed without saying why');
  }

  const facts = {
    operation: operation.name,
    // A listener may have aborted at the last moment.
    outcome: operation.method === 'GET' || !handedOn ? null : ('unknown' as const),
    timeout,
    testMode: isTestKey(apiKey),
    idempotencyKey: call.idempotencyKey,
    get redact() {
      const keys = [...new Set([apiKey, ...recentKeys])];
      return createRedact(keys, textField(request, 'phone'), textField(request, 'customer_email'));
    },
  };
  const { status } = received;
  const requestId = requestIdIn(received.headers, facts);
  const ended = {
    type: 'response' as const,
    ...subject,
    attempt,
    status,
    duration: performance.now() - began,
    ...(requestId === undefined ? {} : { requestId }),
  };
  try {
    const result = settle(operation, request, facts, received, thrown);
    client.report(ended);
    return { result, retryAfter: retryAfterIn(received.headers), redact: () => facts.redact };
  } catch (error) {
    // A bug of ours, met while an answer is read, must not hide that a charge may exist.
    const isOurs = error instanceof PaymentsError || thrown instanceof Aborted;
    const failure = isOurs ? error : unexpectedFault(facts, received);
    client.report({ ...ended, error: failure instanceof PaymentsError ? failure.code : 'aborted' });
    throw failure;
  }
}

/** An answer may still be about the key that was just replaced. */
function remember(apiKey: string, recentKeys: string[]): void {
  if (recentKeys.includes(apiKey)) return;
  recentKeys.unshift(apiKey);
  recentKeys.splice(3);
}

/** A key may come from anywhere and take its time, so it is bounded like a request. Nothing has been sent yet. */
export async function currentKey(
  { apiKey, requiredMode }: Pick<ResolvedOptions, 'apiKey' | 'requiredMode'>,
  operation: OperationName,
  { timeout, signal }: Pick<ResolvedRequestOptions, 'timeout' | 'signal'>,
): Promise<string> {
  if (typeof apiKey === 'string') return apiKey;
  try {
    return checkedKey(await within(timeout, signal, async () => apiKey()), requiredMode);
  } catch (fault) {
    const error = inspectable(fault);
    if (error instanceof Aborted) throw error.reason;
    if (error instanceof ConfigurationError)
      throw new ConfigurationError(withoutSecrets(error.message), { operation });
    const late = error instanceof TimedOut;
    const why = late ? `gave no key within ${timeout} ms` : 'failed';
    const cause = late ? undefined : printable(error, withoutSecrets);
    throw new ConfigurationError(`The apiKey function ${why}, so nothing was sent.`, {
      operation,
      cause,
      retryable: true,
    });
  }
}
