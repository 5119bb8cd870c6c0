import type { OperationName } from '../api/operations.ts';
import type { Outcome, PaymentsError } from '../errors.ts';
import {
  type APIError,
  apiErrorClass,
  ConnectionError,
  howToResolve,
  OutcomeUnknownError,
  RequestTimeoutError,
  UnexpectedResponseError,
} from '../errors.ts';
import type { Redact } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { DeadlineExceeded } from '../timing.ts';
import { orUndefined } from '../untrusted.ts';
import { extractFieldErrors, extractMessage, extractReference, rejectionProblem } from './error-body.ts';
import { parseRetryAfter } from './headers.ts';
import { isProvenNotSent } from './not-sent.ts';
import type { ResponseBuffer } from './response.ts';

/** What every error of a call has to know of it. `outcome` is what holds as long as nothing tells more. */
export interface CallContext {
  operation: OperationName;
  /** `null` for a read, which moves no money; `unknown` for a POST that may have arrived. */
  outcome: 'unknown' | null;
  timeout: number;
  testMode: boolean;
  /** The key of the call, if it has one, as it may be printed. */
  idempotencyKey: string | undefined;
  /** Where the request went. */
  url: string;
  /** Whether an error can only be about the request itself: see `own-connections.ts`. */
  hasOwnConnections: boolean;
  /** The response bears the `X-Request-Id` of an earlier request of this client. */
  isOfEarlierRequest: boolean;
  readonly redact: Redact;
  /** The id under which the service's logs know the request. */
  readonly requestId: string;
}

const isRead = ({ outcome }: CallContext) => outcome === null;

/** A read fails with the fault itself; a POST that may have arrived, with the doubt, and the fault as its cause. */
function orOutcomeUnknown(facts: CallContext, fault: PaymentsError, reference?: string): PaymentsError {
  return isRead(facts) ? fault : outcomeUnknown(facts, fault, fault.message, reference);
}

function outcomeUnknown(
  { operation, idempotencyKey, redact, requestId }: CallContext,
  cause: unknown,
  why: string,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && redact.id(reference);
  if (idempotencyKey !== undefined) {
    const made = operation === 'initialize' ? 'A payment may have been started.' : 'A charge may exist.';
    const message = `${why} ${made} ${howToResolve(operation, idempotencyKey, shown)}`;
    return new OutcomeUnknownError(message, {
      operation,
      cause,
      reference,
      shown,
      idempotencyKey,
      requestId,
    });
  }
  const look = shown ? `verify ${shown}` : "look for it in the service's records";
  const advice =
    operation === 'initialize'
      ? `A payment may have been started, but no customer was sent to it: ${look}, or start another.`
      : `A charge may exist. Do not charge again and do not cancel the order before you know: ${look}.`;
  return new OutcomeUnknownError(`${why} ${advice}`, { operation, cause, reference, shown, requestId });
}

export function abortError(facts: CallContext, reason: unknown): unknown {
  if (isRead(facts)) return reason;
  return outcomeUnknown(facts, reason, `${facts.operation}: the call was aborted while it was in flight.`);
}

export function incompleteResponseError(
  facts: CallContext,
  thrown: unknown,
  status: number | null,
): PaymentsError {
  const { operation, outcome, redact, requestId } = facts;
  const retryable = isRead(facts);
  if (thrown instanceof DeadlineExceeded) {
    const message = `${operation}: no whole answer came within ${facts.timeout} ms.`;
    return orOutcomeUnknown(
      facts,
      new RequestTimeoutError(message, { operation, outcome, retryable, requestId }),
    );
  }
  const cause = sanitizeError(thrown, redact);
  if (status === null && isProvenNotSent(thrown, facts.hasOwnConnections ? undefined : new URL(facts.url))) {
    const message = `${operation}: no connection to the service could be made, so nothing was sent (${rootCauseMessage(cause)}).`;
    return new ConnectionError(message, {
      operation,
      outcome: outcome && 'not_sent',
      retryable: true,
      cause,
      requestId,
    });
  }
  const message = `${operation}: the connection failed before a whole answer came (${rootCauseMessage(cause)}).`;
  return orOutcomeUnknown(
    facts,
    new ConnectionError(message, { operation, outcome, retryable, cause, requestId }),
  );
}

/** The client errors of RFC 9110 and of IANA's registry. 408 says that the service waited, not that it refused. */
const REFUSALS = new Set([
  ...[400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  ...[421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
]);

/** `isWhole`: the response did not break off. */
export function statusError(
  facts: CallContext,
  received: ResponseBuffer,
  status: number,
  isWhole: boolean,
): PaymentsError {
  if (status < 400)
    return unexpectedResponseError(facts, received, status, 'a redirect, which is never followed');
  if (isRead(facts)) {
    const passing = status >= 500 || [408, 425, 429].includes(status);
    return apiError(facts, received, status, null, passing);
  }
  if (!REFUSALS.has(status)) {
    const reference = extractReference(received, facts.redact);
    return orOutcomeUnknown(facts, apiError(facts, received, status, 'unknown', false), reference);
  }
  return afterRefusal(facts, received, status, isWhole, status === 429);
}

/** `status: false`. */
export function rejectionError(facts: CallContext, received: ResponseBuffer, status: number): PaymentsError {
  if (isRead(facts)) return apiError(facts, received, status, null, false);
  return afterRefusal(facts, received, status, true, false);
}

/** Of a POST: it was rejected only if nothing in the response says that a transaction exists all the same. */
function afterRefusal(
  facts: CallContext,
  received: ResponseBuffer,
  status: number,
  isWhole: boolean,
  retryable: boolean,
): PaymentsError {
  const why = rejectionProblem(received, isWhole);
  if (why === undefined) return apiError(facts, received, status, 'rejected', retryable);
  const cause = apiError(facts, received, status, 'unknown', false);
  return outcomeUnknown(facts, cause, `${cause.message} ${why}`, extractReference(received, facts.redact));
}

export function unexpectedResponseError(
  facts: CallContext,
  received: ResponseBuffer,
  status: number,
  fault: string,
): PaymentsError {
  const { operation, outcome, redact, requestId } = facts;
  const retryable = isRead(facts) && status < 300;
  const size = received.truncated ? ', longer than any of the service' : '';
  const body = redact.body(received);
  const message = `${operation}: the service answered ${status} with ${fault}${size}.${testKeyHint(facts)}`;
  const error = new UnexpectedResponseError(message, {
    operation,
    outcome,
    retryable,
    status,
    body,
    requestId,
  });
  return isRead(facts) ? error : orOutcomeUnknown(facts, error, extractReference(received, redact));
}

/**
 * A POST got the response to an earlier request: a service sent one too many over a connection that is used again, or a
 * cache gave an old one. It tells nothing of this request, and the transaction in it is another one.
 */
export function earlierAnswer(facts: CallContext, received: ResponseBuffer, status: number): PaymentsError {
  const { operation, outcome, redact, requestId } = facts;
  const message = `${operation}: the response has the X-Request-Id of an earlier request.`;
  const body = redact.body(received);
  const seen = { status, body, requestId };
  return orOutcomeUnknown(
    facts,
    new UnexpectedResponseError(message, { operation, outcome, retryable: false, ...seen }),
  );
}

/** What was thrown is not shown: it may quote what was read. */
export function internalError(facts: CallContext, { status }: ResponseBuffer): PaymentsError {
  const { operation, outcome, requestId } = facts;
  const message = `${operation}: the client itself failed while it read the answer.`;
  const retryable = isRead(facts);
  const seen = { status: status ?? 0, body: undefined, requestId };
  return orOutcomeUnknown(
    facts,
    new UnexpectedResponseError(message, { operation, outcome, retryable, ...seen }),
  );
}

function testKeyHint({ testMode, operation }: CallContext): string {
  const hint = ' The key is a test key: charging works in live mode only.';
  return testMode && operation === 'chargeMobileMoney' ? hint : '';
}

/** What a 404 most often means. */
function likelyMistake(facts: CallContext, status: number): string {
  if (status !== 404) return '';
  if (isRead(facts)) return ' Is the reference of another account or mode?';
  const { pathname } = new URL(facts.url);
  const path = pathname.length > LONGEST_PATH ? `…${pathname.slice(-LONGEST_PATH)}` : pathname;
  return ` baseUrl includes the version prefix, such as /api/v1; the path was ${path}.`;
}

const LONGEST_PATH = 80;

function apiError(
  facts: CallContext,
  received: ResponseBuffer,
  status: number,
  outcome: Outcome | null,
  retryable: boolean,
): APIError {
  const { operation, redact, requestId } = facts;
  // A body that cannot be read does not hide what the status says.
  const body = orUndefined(() => redact.body(received));
  const serviceMessage = orUndefined(() => extractMessage(body));
  const said = serviceMessage ? `: ${serviceMessage.replace(/[.\s]+$/, '')}` : '';
  const rejected = outcome === 'rejected' ? ' Nothing was charged by this call.' : '';
  return new (apiErrorClass(status))(
    `${operation}: the service answered ${status}${said}.${rejected}${likelyMistake(facts, status)}${testKeyHint(facts)}`,
    {
      operation,
      outcome,
      retryable,
      status,
      body,
      serviceMessage,
      fieldErrors: orUndefined(() => extractFieldErrors(body)) ?? [],
      requestId,
      retryAfter: parseRetryAfter(received.headers),
    },
  );
}

function rootCauseMessage(error: Error): string {
  if (error.cause instanceof Error) return rootCauseMessage(error.cause);
  return 'code' in error ? `${error.code}: ${error.message}` : error.message;
}
