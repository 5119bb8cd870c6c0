import type { OperationName } from '../api/operations.ts';
import type { AnyTransaction } from '../errors.ts';
import { ConfigurationError, PaymentsError } from '../errors.ts';
import type { ResolvedOptions, ResolvedRequestOptions, Transport } from '../options.ts';
import { createRedact, type Redact, redactUnknownSecrets } from '../redact.ts';
import { isTestKey, validateApiKey } from '../resolve-options.ts';
import { ensureInspectable, sanitizeError } from '../sanitize-error.ts';
import { CallerAborted, DeadlineExceeded, withTimeout } from '../timing.ts';
import { buildPath, type Call, stringField } from './call.ts';
import { extractRequestId } from './error-body.ts';
import { internalError } from './error-mapping.ts';
import { buildHeaders, newRequestId, parseRetryAfter, REQUEST_ID } from './headers.ts';
import { interpretResponse } from './interpret-response.ts';
import { hasOwnConnections } from './own-connections.ts';
import { ResponseBuffer } from './response.ts';
import { flushSocketCloses } from './socket-closes.ts';

/** What a client remembers of its latest requests. */
export interface Recent {
  /** The newest first. */
  readonly apiKeys: string[];
  /** Those that the client made. */
  readonly requestIds: Set<string>;
}

/** A result, and what its answer said about asking again. */
export interface CallResult<Result> {
  result: Result;
  /** The answer's Retry-After, in milliseconds. */
  retryAfter: number | undefined;
  /** The `X-Request-Id` that the request was sent with, as it may be printed and stored. */
  requestId: string;
  /** Takes out what may be neither printed nor stored: the key that was used, and the customer's phone and email. */
  redact: () => Redact;
}

/** What an event is about. */
export function eventContext({
  operation,
  request,
}: {
  operation: { name: OperationName };
  request: object;
}) {
  const reference = stringField(request, 'reference');
  return { operation: operation.name, ...(reference === undefined ? {} : { reference }) };
}

/** One try: one request, and its answer or what came instead of it. */
export async function sendAttempt<Input, Request extends object, Result extends AnyTransaction>(
  transport: Transport,
  client: ResolvedOptions,
  call: Call<Input, Request, Result>,
  attempt: number,
  recent: Recent,
): Promise<CallResult<Result>> {
  const { operation, request, body, signal, timeout } = call;
  signal?.throwIfAborted();
  const apiKey = await resolveAttemptKey(client, call, attempt);
  rememberKey(apiKey, recent.apiKeys);
  if (body !== undefined) await flushSocketCloses();
  signal?.throwIfAborted();

  const redactor = () => {
    const keys = [...new Set([apiKey, ...recent.apiKeys])];
    return createRedact(keys, stringField(request, 'phone'), stringField(request, 'customer_email'));
  };
  const { sentId, requestId } = identify(call.headers, recent, redactor);
  call.beforeSending?.({ apiKey, requestId });

  const subject = eventContext(call);
  const headers = buildHeaders(call.headers, sentId, apiKey, body !== undefined);
  const url = `${client.baseUrl}/${buildPath(operation, subject.reference)}`;
  const received = new ResponseBuffer();
  const began = performance.now();
  let thrown: unknown;
  let dispatched = false;
  let isOwn = false;
  client.report({ type: 'request', ...subject, attempt, requestId });
  try {
    await withTimeout(timeout, signal, async (end) => {
      dispatched = true;
      isOwn = hasOwnConnections(transport);
      await transport.send({ method: operation.method, url, headers, body, signal: end }, received);
    });
  } catch (fault) {
    thrown = ensureInspectable(fault) ?? new Error('fetch failed without saying why');
  }

  const { status } = received;
  const returnedId = received.headers.get(REQUEST_ID);
  // It takes a while to make, and an error needs it several times.
  let redact: Redact | undefined;
  const facts = {
    operation: operation.name,
    // A listener may have aborted at the last moment.
    outcome: dispatched ? outcomeOf(operation) : null,
    timeout,
    testMode: isTestKey(apiKey),
    idempotencyKey: call.idempotencyKey,
    url,
    hasOwnConnections: isOwn,
    isOfEarlierRequest: returnedId !== sentId && recent.requestIds.has(returnedId ?? ''),
    get redact(): Redact {
      redact ??= redactor();
      return redact;
    },
    get serviceRequestId(): string | undefined {
      return returnedId === sentId ? undefined : extractRequestId(received.headers, facts);
    },
    get requestId(): string {
      return facts.serviceRequestId ?? requestId;
    },
  };
  const { serviceRequestId } = facts;
  const ended = {
    type: 'response' as const,
    ...subject,
    attempt,
    status,
    duration: performance.now() - began,
    requestId,
    ...(serviceRequestId === undefined ? {} : { serviceRequestId }),
  };
  try {
    const result = interpretResponse(operation, request, facts, received, thrown);
    client.report(ended);
    return { result, retryAfter: parseRetryAfter(received.headers), requestId, redact: redactor };
  } catch (error) {
    // A bug of ours, met while an answer is read, must not hide that a charge may exist.
    const isOurs = error instanceof PaymentsError || thrown instanceof CallerAborted;
    const failure = isOurs ? error : internalError(facts, received);
    client.report({ ...ended, error: failure instanceof PaymentsError ? failure.code : 'aborted' });
    throw failure;
  }
}

const outcomeOf = ({ method }: { method: string }) => (method === 'GET' ? null : ('unknown' as const));

/** The id that a request is sent with, the caller's own or a new one, and the same as it may be printed. */
function identify(headers: Readonly<Record<string, string>>, recent: Recent, redactor: () => Redact) {
  const own = headers[REQUEST_ID];
  if (own !== undefined) return { sentId: own, requestId: redactor()(own) };
  const requestId = newRequestId(recent.requestIds);
  return { sentId: requestId, requestId };
}

/** An answer may still be about the key that was just replaced. */
function rememberKey(apiKey: string, recentKeys: string[]): void {
  if (recentKeys.includes(apiKey)) return;
  recentKeys.unshift(apiKey);
  recentKeys.splice(3);
}

/** A call with an `idempotencyKey` asked for the key of its first attempt before it claimed. */
async function resolveAttemptKey<Input, Request extends object, Result>(
  client: ResolvedOptions,
  call: Call<Input, Request, Result>,
  attempt: number,
): Promise<string> {
  const known = attempt === 1 ? call.apiKey : undefined;
  return known ?? resolveApiKey(client, call.operation.name, call);
}

/** A key may come from anywhere and take its time, so it is bounded like a request. Nothing has been sent yet. */
export async function resolveApiKey(
  { apiKey, requiredMode }: Pick<ResolvedOptions, 'apiKey' | 'requiredMode'>,
  operation: OperationName,
  { timeout, signal }: Pick<ResolvedRequestOptions, 'timeout' | 'signal'>,
): Promise<string> {
  if (typeof apiKey === 'string') return apiKey;
  try {
    return validateApiKey(await withTimeout(timeout, signal, async () => apiKey()), requiredMode);
  } catch (fault) {
    const error = ensureInspectable(fault);
    if (error instanceof CallerAborted) throw error.reason;
    if (error instanceof ConfigurationError)
      throw new ConfigurationError(redactUnknownSecrets(error.message), { operation });
    const late = error instanceof DeadlineExceeded;
    const why = late ? `gave no key within ${timeout} ms` : 'failed';
    const cause = late ? undefined : sanitizeError(error, redactUnknownSecrets);
    throw new ConfigurationError(`The apiKey function ${why}, so nothing was sent.`, {
      operation,
      cause,
      retryable: true,
    });
  }
}
