import type { OperationName } from '../api/operations.ts';
import type { Outcome, PaymentsError } from '../errors.ts';
import {
  type APIError,
  ConnectionError,
  describeResolution,
  OutcomeUnknownError,
  pickErrorClass,
  RequestTimeoutError,
  UnexpectedResponseError,
} from '../errors.ts';
import type { Redact } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';
import { DeadlineExceeded } from '../support/timing.ts';
import { orUndefined } from '../support/untrusted.ts';
import { extractFieldErrors, extractMessage, extractReference, rejectionProblem } from './error-body.ts';
import { isProvenNotSent } from './not-sent.ts';
import type { ResponseBuffer } from './response.ts';

export interface AttemptContext {
  readonly operation: OperationName;
  /** The outcome unless more is known: `null` for a read, which moves no money, and if nothing was dispatched. */
  readonly outcome: 'unknown' | null;
  /** In milliseconds. */
  readonly timeout: number;
  readonly url: string;
  readonly idempotencyKey: string | undefined;
  readonly hasTestKey: boolean;
  readonly hasOwnConnections: boolean;
  /** Whether a request is known to have left, whatever the error says: a fetch of the merchant's can send twice. */
  readonly hasLeft: boolean;
  /** The id under which the service's logs know the request, redacted. */
  readonly requestId: string;
  readonly redact: Redact;
}

/** Of a read, and of a POST that was not dispatched. */
const hasSentNoCharge = ({ outcome }: AttemptContext) => outcome === null;

/** The caller aborted the call. A read rejects with the reason itself. */
export function abortError(context: AttemptContext, reason: unknown): unknown {
  if (hasSentNoCharge(context)) return reason;
  return outcomeUnknown(
    context,
    reason,
    `${context.operation}: the call was aborted while it was in flight.`,
  );
}

/** No whole response has arrived: the time is over, or the connection failed. */
export function incompleteResponseError(context: AttemptContext, thrown: unknown): PaymentsError {
  const { operation, outcome, redact, requestId } = context;
  const retryable = hasSentNoCharge(context);
  if (thrown instanceof DeadlineExceeded) {
    const message = `${operation}: no complete response within ${context.timeout} ms.`;
    const error = new RequestTimeoutError(message, { operation, outcome, retryable, requestId });
    return unknownUnlessRead(context, error);
  }
  const cause = sanitizeError(thrown, redact);
  const code = rootCauseMessage(cause);
  const target = context.hasOwnConnections ? undefined : new URL(context.url);
  if (!context.hasLeft && isProvenNotSent(thrown, target)) {
    return new ConnectionError(
      `${operation}: no connection to the service could be made, so nothing was sent (${code}).`,
      { operation, outcome: outcome && 'not_sent', retryable: true, cause, requestId },
    );
  }
  const error = new ConnectionError(
    `${operation}: the connection failed before a complete response arrived (${code}).`,
    { operation, outcome, retryable, cause, requestId },
  );
  return unknownUnlessRead(context, error);
}

function rootCauseMessage(error: Error): string {
  if (error.cause instanceof Error) return rootCauseMessage(error.cause);
  return 'code' in error ? `${error.code}: ${error.message}` : error.message;
}

/**
 * A POST got the response to an earlier request: the service sent one too many over a reused connection, or a cache
 * returned an old one. It says nothing about this request, and the transaction in it is another one.
 */
export function lateResponseError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
): PaymentsError {
  const { operation, outcome, redact, requestId } = context;
  const error = new UnexpectedResponseError(
    `${operation}: the response has the X-Request-Id of an earlier request.`,
    { operation, outcome, retryable: false, status, body: redact.body(response), requestId },
  );
  return unknownUnlessRead(context, error);
}

/** The 4xx statuses of RFC 9110 and of IANA's registry. 408 is left out: it says that the service waited in vain. */
const REFUSAL_STATUSES = new Set([
  ...[400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  ...[421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
]);

/** A status other than 2xx. `isWhole`: the response did not break off. */
export function statusError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
  isWhole: boolean,
): PaymentsError {
  if (status < 400)
    return unexpectedResponseError(context, response, status, 'a redirect, which is never followed');
  if (hasSentNoCharge(context)) {
    const isTemporary = status >= 500 || [408, 425, 429].includes(status);
    return apiError(context, response, status, null, isTemporary);
  }
  if (!REFUSAL_STATUSES.has(status)) {
    const error = apiError(context, response, status, 'unknown', false);
    return unknownUnlessRead(context, error, extractReference(response, context.redact));
  }
  return refusalError(context, response, status, isWhole, status === 429);
}

/** A 2xx with `status: false` in its body. */
export function rejectionError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
): PaymentsError {
  if (hasSentNoCharge(context)) return apiError(context, response, status, null, false);
  return refusalError(context, response, status, true, false);
}

/** The service refused a POST. It is rejected only if nothing in the response says that a transaction exists. */
function refusalError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
  isWhole: boolean,
  retryable: boolean,
): PaymentsError {
  const problem = rejectionProblem(response, isWhole);
  if (problem === undefined) return apiError(context, response, status, 'rejected', retryable);
  const cause = apiError(context, response, status, 'unknown', false);
  const reference = extractReference(response, context.redact);
  return outcomeUnknown(context, cause, `${cause.message} ${problem}`, reference);
}

export function unexpectedResponseError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
  problem: string,
): PaymentsError {
  const { operation, outcome, redact, requestId } = context;
  const retryable = hasSentNoCharge(context) && status < 300;
  const size = response.truncated ? ', longer than any of the service' : '';
  const error = new UnexpectedResponseError(
    `${operation}: the service responded ${status} with ${problem}${size}.${testKeyHint(context)}`,
    { operation, outcome, retryable, status, body: redact.body(response), requestId },
  );
  return unknownUnlessRead(
    context,
    error,
    hasSentNoCharge(context) ? undefined : extractReference(response, redact),
  );
}

/** This package itself failed. What it threw is not shown, because that might quote the response. */
export function internalError(context: AttemptContext, { status }: ResponseBuffer): PaymentsError {
  const { operation, outcome, requestId } = context;
  const error = new UnexpectedResponseError(
    `${operation}: the client itself failed while it read the response.`,
    {
      operation,
      outcome,
      retryable: hasSentNoCharge(context),
      status: status ?? 0,
      body: undefined,
      requestId,
    },
  );
  return unknownUnlessRead(context, error);
}

function apiError(
  context: AttemptContext,
  response: ResponseBuffer,
  status: number,
  outcome: Outcome | null,
  retryable: boolean,
): APIError {
  const { operation, redact, requestId } = context;
  // A body that cannot be read must not hide what the status says.
  const body = orUndefined(() => redact.body(response));
  const serviceMessage = orUndefined(() => extractMessage(body));
  const quoted = serviceMessage ? `: ${serviceMessage.replace(/[.\s]+$/, '')}` : '';
  const rejected = outcome === 'rejected' ? ' Nothing was charged by this call.' : '';
  const hints = `${notFoundHint(context, status)}${testKeyHint(context)}`;
  return new (pickErrorClass(status))(
    `${operation}: the service responded ${status}${quoted}.${rejected}${hints}`,
    {
      operation,
      outcome,
      retryable,
      status,
      body,
      serviceMessage,
      fieldErrors: orUndefined(() => extractFieldErrors(body)) ?? [],
      requestId,
      retryAfter: response.retryAfter,
    },
  );
}

const MAX_SHOWN_ADDRESS = 80;

/** What a 404 most often means. The path of every operation begins with `transactions/`, and a reference has no slash. */
function notFoundHint(context: AttemptContext, status: number): string {
  if (status !== 404) return '';
  const baseUrl = context.url.slice(0, context.url.lastIndexOf('/transactions/'));
  if (!/\/api\/v1$/.test(baseUrl)) {
    const shown = baseUrl.length > MAX_SHOWN_ADDRESS ? `…${baseUrl.slice(-MAX_SHOWN_ADDRESS)}` : baseUrl;
    return ` The baseUrl ${shown} has no /api/v1 at its end: is it complete?`;
  }
  return hasSentNoCharge(context) ? ' Is the reference of another account or mode?' : '';
}

function testKeyHint({ hasTestKey, operation }: AttemptContext): string {
  const hint = ' The key is a test key: charging works in live mode only.';
  return hasTestKey && operation === 'chargeMobileMoney' ? hint : '';
}

/** A read fails with the error itself. A POST that might have arrived has an unknown outcome, and the error as its cause. */
function unknownUnlessRead(context: AttemptContext, error: PaymentsError, reference?: string): PaymentsError {
  return hasSentNoCharge(context) ? error : outcomeUnknown(context, error, error.message, reference);
}

function outcomeUnknown(
  { operation, idempotencyKey, redact, requestId }: AttemptContext,
  cause: unknown,
  problem: string,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && redact.id(reference);
  const facts = { operation, cause, reference, shown, requestId };
  const isInitialize = operation === 'initialize';
  if (idempotencyKey !== undefined) {
    const risk = isInitialize ? 'A payment might have been started.' : 'A charge might exist.';
    const message = `${problem} ${risk} ${describeResolution(operation, idempotencyKey, shown)}`;
    return new OutcomeUnknownError(message, { ...facts, idempotencyKey });
  }
  const check = shown ? `verify ${shown}` : "look for it in the service's records";
  const advice = isInitialize
    ? `A payment might have been started, but no customer was sent to it: ${check}, or start another.`
    : `A charge might exist. Do not charge again and do not cancel the order before you know: ${check}.`;
  return new OutcomeUnknownError(`${problem} ${advice}`, facts);
}
