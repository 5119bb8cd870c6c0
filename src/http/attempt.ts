import type { Operation, OperationName } from '../api/operations.ts';
import { isTestKey, resolveApiKey } from '../api-key.ts';
import { type AnyTransaction, PaymentsError, TransactionMismatchError } from '../errors.ts';
import type { ResponseEvent } from '../events.ts';
import type { NormalizedOptions, NormalizedRequestOptions, Transport, TransportRequest } from '../options.ts';
import { createRedact, type Redact } from '../support/redact.ts';
import { ensureInspectable } from '../support/sanitize-error.ts';
import { CallerAborted, DeadlineExceeded, withTimeout } from '../support/timing.ts';
import { isObject, stringField } from '../support/untrusted.ts';
import { version } from '../support/version.ts';
import type { Call } from './call.ts';
import {
  type AttemptContext,
  abortError,
  incompleteResponseError,
  internalError,
  lateResponseError,
  rejectionError,
  statusError,
  unexpectedResponseError,
} from './error-mapping.ts';
import { Gate } from './gate.ts';
import { hasOwnConnections } from './not-sent.ts';
import { REQUEST_ID, type RequestIds, readServiceRequestId } from './request-id.ts';
import { ResponseBuffer } from './response.ts';
import { type RequestTrace, traceRequest } from './tracing.ts';

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
      ...(call.lease ? { idempotencyKey: call.lease.redactedKey } : {}),
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
  const { operation, request, body, signal, timeout, lease } = call;
  signal?.throwIfAborted();
  const first = attempt === 1 ? lease?.first : undefined;
  // In a later turn: fake timers of a test that pass a minute at once must not pass the timeout of this request with it.
  const apiKey = await (first?.apiKey ?? resolveApiKey(client, operation.name, call));
  rememberKey(apiKey, recentKeys);
  const createRedactor = () =>
    createRedact(
      [...new Set([apiKey, ...recentKeys])],
      stringField(request, 'phone'),
      stringField(request, 'customer_email'),
    );
  const ownId = call.headers[REQUEST_ID];
  const sentId = ownId ?? first?.requestId ?? requestIds.create();
  const requestId = ownId === undefined ? sentId : createRedactor().id(ownId);
  const response = new ResponseBuffer();
  const gate = new Gate(call, closing, response);
  await gate.prepare({ attempt, apiKey, requestId });
  gate.open();

  const headers = buildHeaders(call.headers, sentId, apiKey, body !== undefined);
  client.reportRequest?.({ type: 'request', ...subject, attempt, requestId });
  trace.requestId = requestId;
  const sent = await transmit(
    transport,
    { method: operation.method, url, headers, body },
    { response, timeout, signal, gate, sentId },
  );
  const { thrown } = sent;

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
    outcome: sent.isDispatched && operation.method !== 'GET' ? 'unknown' : null,
    timeout,
    url,
    idempotencyKey: lease?.redactedKey,
    hasTestKey: isTestKey(apiKey),
    hasOwnConnections: sent.hasOwnConnections,
    hasLeft: gate.hasLeft,
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
    duration: sent.duration,
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

interface Transmitted {
  readonly isDispatched: boolean;
  readonly hasOwnConnections: boolean;
  /** What ended it early: whatever the transport threw, {@link DeadlineExceeded} or {@link CallerAborted}. */
  readonly thrown: unknown;
  /** In milliseconds. */
  readonly duration: number;
}

interface TransmitContext extends Pick<NormalizedRequestOptions, 'timeout' | 'signal'> {
  readonly response: ResponseBuffer;
  readonly gate: Gate;
  readonly sentId: string;
}

/** Gives a request to the transport. Resolves in every case. */
async function transmit(
  transport: Transport,
  request: Omit<TransportRequest, 'signal'>,
  { response, timeout, signal: callerSignal, gate, sentId }: TransmitContext,
): Promise<Transmitted> {
  const startedAt = performance.now();
  let [isDispatched, isOwn] = [false, false];
  let thrown: unknown;
  const send = async (signal: AbortSignal, stop: (why: Error) => void) => {
    gate.watch(sentId, stop);
    isDispatched = true;
    isOwn = hasOwnConnections(transport);
    await transport.send({ ...request, signal }, response);
  };
  try {
    await withTimeout(timeout, callerSignal, send, () => gate.hasLeft);
  } catch (error) {
    thrown = ensureInspectable(error) ?? new Error('fetch failed without an error.');
  }
  gate.close();
  return { isDispatched, hasOwnConnections: isOwn, thrown, duration: performance.now() - startedAt };
}

/**
 * Returns the typed result of a response, or throws the error that states what might have happened to the money.
 *
 * @param thrown what ended the request early, or `undefined` if the whole response has arrived.
 * @param isLate whether the response has the `X-Request-Id` of an earlier request of this client.
 */
function interpretResponse<Input, Request extends object, Result extends AnyTransaction>(
  operation: Operation<Input, Request, Result>,
  request: Request,
  createContext: () => AttemptContext,
  response: ResponseBuffer,
  thrown: unknown,
  isLate: boolean,
): Result {
  const { status } = response;
  if (thrown instanceof CallerAborted) throw abortError(createContext(), thrown.reason);
  if (status === null) throw incompleteResponseError(createContext(), thrown);
  if (operation.method === 'POST' && isLate) throw lateResponseError(createContext(), response, status);
  if (status < 200 || status > 299)
    throw statusError(createContext(), response, status, thrown === undefined);
  if (thrown !== undefined) throw incompleteResponseError(createContext(), thrown);

  const body = response.json;
  if (body === undefined)
    throw unexpectedResponseError(createContext(), response, status, 'a body that is not JSON');
  if (isRejection(body)) throw rejectionError(createContext(), response, status);
  const parsed = operation.output.safeParse(body);
  if (!parsed.success) {
    const fields = new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the body'));
    const problem = `an unexpected body: ${[...fields].join(', ')} missing or wrong`;
    throw unexpectedResponseError(createContext(), response, status, problem);
  }
  const result = parsed.data;
  const mismatches = operation.findMismatches(result, request);
  if (mismatches.length > 0) throw new TransactionMismatchError(result, mismatches, createContext());
  return result;
}

function isRejection(body: unknown): boolean {
  return isObject(body) && 'status' in body && body.status === false;
}
