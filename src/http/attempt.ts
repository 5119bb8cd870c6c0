import type { OperationName } from '../api/operations.ts';
import { type AnyTransaction, ClosedError, ConfigurationError, PaymentsError } from '../errors.ts';
import type { ResponseEvent } from '../events.ts';
import { isTestKey, validateApiKey } from '../normalize-options.ts';
import type {
  KeyRules,
  NormalizedOptions,
  NormalizedRequestOptions,
  Transport,
  TransportRequest,
} from '../options.ts';
import { createRedact, type Redact, redactUnknownSecrets } from '../support/redact.ts';
import { ensureInspectable, sanitizeError } from '../support/sanitize-error.ts';
import { CallerAborted, DeadlineExceeded, elapsedSince, readClocks, withTimeout } from '../support/timing.ts';
import { stringField } from '../support/untrusted.ts';
import { version } from '../support/version.ts';
import type { Call } from './call.ts';
import { type AttemptContext, internalError } from './error-mapping.ts';
import { interpretResponse } from './interpret-response.ts';
import { hasOwnConnections } from './not-sent.ts';
import { REQUEST_ID, type RequestIds, readServiceRequestId } from './request-id.ts';
import { ResponseBuffer } from './response.ts';
import { onSendHeaders } from './send-headers.ts';
import { flushSocketCloses } from './socket-closes.ts';
import { type RequestTrace, traceRequest } from './tracing.ts';

/** What the attempts of one client share. */
export interface Sender {
  readonly client: NormalizedOptions;
  readonly transport: Transport;
  readonly closing: AbortSignal;
  /** The API keys of its latest requests, newest first: a response might still quote one that was just replaced. */
  readonly recentKeys: string[];
  readonly requestIds: RequestIds;
}

const MAX_RECENT_KEYS = 3;

/** Where the attempts of one call go, and what their events name. */
export interface Target {
  readonly url: string;
  readonly subject: { readonly operation: OperationName; readonly reference?: string };
}

/** The result of a call, and what its response and its request had beside it. */
export interface CallResult<Result> {
  result: Result;
  /** The response's Retry-After, in milliseconds. */
  retryAfter: number | undefined;
  /** The `X-Request-Id` that the request was sent with, redacted. */
  requestId: string;
  /** Creates a function that redacts the API key of the request, and the customer's phone and email. */
  redact: () => Redact;
}

/**
 * Sends one request, and returns its result or throws the error that states what might have happened to the money.
 */
export function sendAttempt<Input, Request extends object, Result extends AnyTransaction>(
  sender: Sender,
  call: Call<Input, Request, Result>,
  target: Target,
  attempt: number,
): Promise<CallResult<Result>> {
  const { operation, reference } = target.subject;
  const { redactReference } = sender.client;
  return traceRequest(
    operation,
    () => ({
      operation,
      attempt,
      ...(reference === undefined ? {} : { reference: redactReference(reference) }),
      ...(call.redactedKey ? { idempotencyKey: call.redactedKey() } : {}),
    }),
    (trace) => sendTraced(sender, call, target, attempt, trace),
    ({ result }) => redactReference(result.reference),
  );
}

async function sendTraced<Input, Request extends object, Result extends AnyTransaction>(
  sender: Sender,
  call: Call<Input, Request, Result>,
  { url, subject }: Target,
  attempt: number,
  trace: Pick<RequestTrace, 'requestId' | 'status'>,
): Promise<CallResult<Result>> {
  const { client, transport, closing, recentKeys, requestIds } = sender;
  const { operation, request, body, signal, timeout } = call;
  signal?.throwIfAborted();
  // In a later turn: fake timers of a test that pass a minute at once must not pass the timeout of this request with it.
  const apiKey = await (call.apiKey ?? resolveApiKey(client, operation.name, call));
  rememberKey(apiKey, recentKeys);
  const createRedactor = () =>
    createRedact(
      [...new Set([apiKey, ...recentKeys])],
      stringField(request, 'phone'),
      stringField(request, 'customer_email'),
    );
  const ownId = call.headers[REQUEST_ID];
  const sentId = ownId ?? call.requestId ?? requestIds.create();
  const requestId = ownId === undefined ? sentId : createRedactor().id(ownId);
  if (attempt > 1) await call.beforeRetry?.({ requestId });
  if (body !== undefined) await flushSocketCloses();
  signal?.throwIfAborted();
  if (closing.aborted) throw new ClosedError(operation.name);
  call.beforeSending?.({ apiKey, requestId });

  const headers = buildHeaders(call.headers, sentId, apiKey, body !== undefined);
  client.reportRequest?.({ type: 'request', ...subject, attempt, requestId });
  trace.requestId = requestId;
  const exchange = new Exchange();
  await exchange.run(transport, { method: operation.method, url, headers, body }, sentId, call);
  const { response, thrown } = exchange;

  let redactor: Redact | undefined;
  const redact = () => {
    redactor ??= createRedactor();
    return redactor;
  };
  const returnedId = response.headers.get(REQUEST_ID);
  const isLate = requestIds.isEarlier(returnedId, sentId);
  const serviceRequestId =
    returnedId === sentId
      ? undefined
      : readServiceRequestId(returnedId, response.headers, (id) => redact().id(id));
  const createContext = (): AttemptContext => ({
    operation: operation.name,
    // A listener can abort the call at the last moment: nothing was sent then.
    outcome: exchange.isDispatched && operation.method !== 'GET' ? 'unknown' : null,
    timeout,
    url,
    idempotencyKey: call.redactedKey?.(),
    hasTestKey: isTestKey(apiKey),
    hasOwnConnections: exchange.hasOwnConnections,
    requestId: serviceRequestId ?? requestId,
    // Only when it is needed: an error of its own must not hide that a charge might exist.
    get redact() {
      return redact();
    },
  });
  trace.status = response.status;
  const createEvent = (): ResponseEvent => ({
    type: 'response',
    ...subject,
    attempt,
    status: response.status,
    duration: exchange.duration,
    requestId,
    ...(serviceRequestId === undefined ? {} : { serviceRequestId }),
  });
  try {
    const result = interpretResponse(operation, request, createContext, response, thrown, isLate);
    client.reportRequest?.(createEvent());
    return { result, retryAfter: response.retryAfter, requestId, redact };
  } catch (error) {
    // A bug of this package must not hide that a charge might exist.
    const isExpected = error instanceof PaymentsError || thrown instanceof CallerAborted;
    const failure = isExpected ? error : internalError(createContext(), response);
    client.reportRequest?.({
      ...createEvent(),
      error: failure instanceof PaymentsError ? failure.code : 'aborted',
    });
    throw failure;
  }
}

/**
 * Returns the API key, or asks the caller's function for it.
 *
 * @throws {ConfigurationError} if the caller's function fails or is late, or if the key cannot work. Nothing was sent.
 */
export function resolveApiKey(
  { apiKey, keyRules }: Pick<NormalizedOptions, 'apiKey' | 'keyRules'>,
  operation: OperationName,
  options: Pick<NormalizedRequestOptions, 'timeout' | 'signal'>,
): string | Promise<string> {
  return typeof apiKey === 'string' ? apiKey : askForKey(apiKey, keyRules, operation, options);
}

/** The key might come from anywhere and take long, so `timeout` bounds it as it bounds a request. */
async function askForKey(
  apiKey: () => string | Promise<string>,
  keyRules: KeyRules,
  operation: OperationName,
  { timeout, signal }: Pick<NormalizedRequestOptions, 'timeout' | 'signal'>,
): Promise<string> {
  try {
    return validateApiKey(await withTimeout(timeout, signal, async () => apiKey()), keyRules);
  } catch (thrown) {
    const error = ensureInspectable(thrown);
    if (error instanceof CallerAborted) throw error.reason;
    if (error instanceof ConfigurationError)
      throw new ConfigurationError(redactUnknownSecrets(error.message), { operation });
    const isLate = error instanceof DeadlineExceeded;
    const problem = isLate ? `returned no key within ${timeout} ms` : 'failed';
    const cause = isLate ? undefined : sanitizeError(error, redactUnknownSecrets);
    throw new ConfigurationError(`The apiKey function ${problem}, so nothing was sent.`, {
      operation,
      cause,
      retryable: true,
    });
  }
}

function rememberKey(apiKey: string, recentKeys: string[]): void {
  if (recentKeys.includes(apiKey)) return;
  recentKeys.unshift(apiKey);
  recentKeys.splice(MAX_RECENT_KEYS);
}

const USER_AGENT = `payment-collection-client/${version}`;

/** Returns the headers of one request, by names in lower case. */
function buildHeaders(
  own: Readonly<Record<string, string>>,
  requestId: string,
  apiKey: string,
  hasBody: boolean,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    // An encoded refusal that is not JSON is no proof, and fetch would ask for one.
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    [REQUEST_ID]: requestId,
    ...own,
    authorization: `Bearer ${apiKey}`,
  };
  if (hasBody) headers['content-type'] = 'application/json';
  return headers;
}

/** Until when a request can leave. */
type Limits = Pick<Call<unknown, object, unknown>, 'timeout' | 'signal' | 'lease'>;

/** One request on its way, and what has come of it. */
class Exchange {
  readonly response = new ResponseBuffer();
  /** What ended it early: whatever the transport threw, {@link DeadlineExceeded} or {@link CallerAborted}. */
  thrown: unknown;
  isDispatched = false;
  hasOwnConnections = false;
  /** In milliseconds. */
  duration = 0;
  #areHeadersSent = false;

  /** Whether the request is known to have left this process within its limits. */
  get #hasLeft(): boolean {
    return this.#areHeadersSent || this.response.status !== null;
  }

  /**
   * Resolves in every case. A request that has not left within its time limit and its lease never does: a transport might be
   * connecting for it while the process is frozen.
   */
  async run(
    transport: Transport,
    request: Omit<TransportRequest, 'signal'>,
    requestId: string,
    { timeout, signal: callerSignal, lease }: Limits,
  ): Promise<void> {
    const startedAt = readClocks();
    let release = () => {};
    const send = async (signal: AbortSignal, stop: (why: Error) => void) => {
      const stopForLease = () => stop(new Error('the lease of the idempotency key is over'));
      release = onSendHeaders(requestId, () => {
        if (elapsedSince(startedAt) >= timeout) stop(new DeadlineExceeded());
        else if (lease?.isHeld === false) stopForLease();
        else this.#areHeadersSent = true;
      });
      lease?.over.addEventListener('abort', () => this.#hasLeft || stopForLease());
      this.isDispatched = true;
      this.hasOwnConnections = hasOwnConnections(transport);
      await transport.send({ ...request, signal }, this.response);
    };
    try {
      await withTimeout(timeout, callerSignal, send, () => this.#hasLeft);
    } catch (error) {
      this.thrown = ensureInspectable(error) ?? new Error('fetch failed without an error.');
    }
    release();
    this.duration = performance.now() - startedAt.monotonic;
  }
}
