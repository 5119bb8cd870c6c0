import { type APIError, apiErrorClass } from '../api-errors.ts';
import type { OperationName } from '../contract/operation.ts';
import { referenceSchema } from '../contract/reference.ts';
import type { Outcome, PaymentsError } from '../errors.ts';
import { orNothing } from '../or-nothing.ts';
import { printable } from '../printable.ts';
import type { Redact } from '../redact.ts';
import {
  ConnectionError,
  OutcomeUnknownError,
  RequestTimeoutError,
  UnexpectedResponseError,
} from '../request-errors.ts';
import { TimedOut } from './deadline.ts';
import { fieldErrorsIn, requestIdIn, serviceMessageIn } from './error-answer.ts';
import { wasNeverSent } from './never-sent.ts';
import type { Received } from './received.ts';
import { retryAfterIn } from './retry.ts';

/** What every error of a call has to know of it. `outcome` is what holds as long as nothing tells more. */
export interface CallFacts {
  operation: OperationName;
  /** `null` for a read, which moves no money; `unknown` for a POST that may have arrived. */
  outcome: 'unknown' | null;
  timeout: number;
  testMode: boolean;
  redact: Redact;
}

const isRead = ({ outcome }: CallFacts) => outcome === null;

/** A read fails with the fault itself; a POST that may have arrived, with the doubt, and the fault as its cause. */
function inDoubt(facts: CallFacts, fault: PaymentsError, reference?: string): PaymentsError {
  return isRead(facts) ? fault : doubt(facts, fault, fault.message, reference);
}

function doubt(
  { operation, redact }: CallFacts,
  cause: unknown,
  why: string,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && redact.id(reference);
  const look = shown ? `verify ${shown}` : "look for it in the service's records";
  const advice =
    operation === 'initialize'
      ? `A payment may have been started, but no customer was sent to it: ${look}, or start another.`
      : `A charge may exist. Do not charge again and do not cancel the order before you know: ${look}.`;
  return new OutcomeUnknownError(`${why} ${advice}`, { operation, cause, reference, shown });
}

export function afterAbort(facts: CallFacts, reason: unknown): unknown {
  if (isRead(facts)) return reason;
  return doubt(facts, reason, `${facts.operation}: the call was aborted while it was in flight.`);
}

export function noWholeAnswer(facts: CallFacts, thrown: unknown, status: number | null): PaymentsError {
  const { operation, outcome, redact } = facts;
  const retryable = isRead(facts);
  if (thrown instanceof TimedOut) {
    const message = `${operation}: no whole answer came within ${facts.timeout} ms.`;
    return inDoubt(facts, new RequestTimeoutError(message, { operation, outcome, retryable }));
  }
  const cause = printable(thrown, redact);
  if (status === null && wasNeverSent(thrown)) {
    const message = `${operation}: no connection to the service could be made, so nothing was sent (${deepest(cause)}).`;
    return new ConnectionError(message, {
      operation,
      outcome: outcome && 'not_sent',
      retryable: true,
      cause,
    });
  }
  const message = `${operation}: the connection failed before a whole answer came (${deepest(cause)}).`;
  return inDoubt(facts, new ConnectionError(message, { operation, outcome, retryable, cause }));
}

export function afterErrorStatus(facts: CallFacts, received: Received, status: number): PaymentsError {
  if (status < 400) return unexpectedAnswer(facts, received, status, 'a redirect, which is never followed');
  if (isRead(facts)) {
    const passing = status >= 500 || [408, 425, 429].includes(status);
    return apiError(facts, received, status, null, passing);
  }
  if (status < 500 && status !== 408) return apiError(facts, received, status, 'rejected', status === 429);
  return inDoubt(facts, apiError(facts, received, status, 'unknown', false));
}

/** `status: false`. Where it names a transaction all the same, it is no proof that none exists. */
export function refusal(facts: CallFacts, received: Received, status: number): PaymentsError {
  const reference = referenceIn(received.json);
  if (isRead(facts)) return apiError(facts, received, status, null, false);
  if (!reference) return apiError(facts, received, status, 'rejected', false);
  return inDoubt(facts, apiError(facts, received, status, 'unknown', false), reference);
}

export function unexpectedAnswer(
  facts: CallFacts,
  received: Received,
  status: number,
  fault: string,
): PaymentsError {
  const { operation, outcome, redact } = facts;
  const retryable = isRead(facts) && status < 300;
  const size = received.truncated ? ', longer than any of the service' : '';
  const body = redact.body(received);
  const message = `${operation}: the service answered ${status} with ${fault}${size}.${liveOnly(facts)}`;
  const error = new UnexpectedResponseError(message, { operation, outcome, retryable, status, body });
  return inDoubt(facts, error, referenceIn(received.json));
}

/** What was thrown is not shown: it may quote what was read. */
export function unexpectedFault(facts: CallFacts, { status }: Received): PaymentsError {
  const { operation, outcome } = facts;
  const message = `${operation}: the client itself failed while it read the answer.`;
  const retryable = isRead(facts);
  const seen = { status: status ?? 0, body: undefined };
  return inDoubt(facts, new UnexpectedResponseError(message, { operation, outcome, retryable, ...seen }));
}

function liveOnly({ testMode, operation }: CallFacts): string {
  const hint = ' The key is a test key: charging works in live mode only.';
  return testMode && operation === 'chargeMobileMoney' ? hint : '';
}

function apiError(
  facts: CallFacts,
  received: Received,
  status: number,
  outcome: Outcome | null,
  retryable: boolean,
): APIError {
  const { operation, redact } = facts;
  // A body that cannot be read does not hide what the status says.
  const body = orNothing(() => redact.body(received));
  const serviceMessage = orNothing(() => serviceMessageIn(body));
  const said = serviceMessage ? `: ${serviceMessage.replace(/[.\s]+$/, '')}` : '';
  const rejected = outcome === 'rejected' ? ' Nothing was charged by this call.' : '';
  return new (apiErrorClass(status))(
    `${operation}: the service answered ${status}${said}.${rejected}${liveOnly(facts)}`,
    {
      operation,
      outcome,
      retryable,
      status,
      body,
      serviceMessage,
      fieldErrors: orNothing(() => fieldErrorsIn(body)) ?? [],
      requestId: requestIdIn(received.headers, facts),
      retryAfter: retryAfterIn(received.headers),
    },
  );
}

/** The reference in an answer that is otherwise unusable. */
function referenceIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('data' in body)) return undefined;
  const { data } = body;
  if (typeof data !== 'object' || data === null || !('reference' in data)) return undefined;
  const reference = referenceSchema.safeParse(data.reference);
  return reference.success ? reference.data : undefined;
}

function deepest(error: Error): string {
  if (error.cause instanceof Error) return deepest(error.cause);
  return 'code' in error ? `${error.code}: ${error.message}` : error.message;
}
