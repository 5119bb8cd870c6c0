import { isDeepStrictEqual } from 'node:util';
import {
  APIError,
  ConnectionError,
  OutcomeUnknownError,
  PaymentsError,
  RequestTimeoutError,
  UnexpectedResponseError,
} from '../../../../src/index.ts';
import type { Cut, RawResponse } from '../../../helpers/tcp-service.ts';
import type { Subject } from './points.ts';

/** How a call ended, and what really happened in the service. */
export interface ObservedCall {
  end: { value: unknown } | { error: unknown };
  created: number;
}

export type Finding = string | false;

export const isFound = (finding: Finding) => finding !== false;

/** Returns each false report about the end of a call, at any cut. */
export function untruths(subject: Subject, { end, created }: ObservedCall): string[] {
  const findings = [
    created > (subject.creates ? 1 : 0) && `the service made ${created}`,
    ...('value' in end
      ? untrueResult(subject, end.value, created)
      : untrueError(subject, end.error, created)),
  ];
  return findings.filter(isFound);
}

function untrueResult(subject: Subject, value: unknown, created: number): Finding[] {
  return [
    !isDeepStrictEqual(value, subject.result) && `it resolved with ${JSON.stringify(value)}`,
    subject.creates && created === 0 && 'it resolved, and the service made none',
  ];
}

const classes = { not_sent: ConnectionError, rejected: APIError, unknown: OutcomeUnknownError };

function untrueError(subject: Subject, error: unknown, created: number): Finding[] {
  if (!(error instanceof PaymentsError)) return [`it threw ${error}`];
  const { outcome, name, operation } = error;
  const isProof = outcome === 'not_sent' || outcome === 'rejected';
  return [
    subject.creates !== (outcome !== null) && `${name} has the outcome ${outcome}`,
    isProof && created > 0 && `${name} says ${outcome}, and the service made one`,
    outcome !== null && !(error instanceof classes[outcome]) && `${name} says ${outcome}`,
    operation !== subject.name && `${name} is about ${operation}`,
  ];
}

/** Checks that the error, or the cause of an unknown outcome, is the one that happened at this point. */
export function wrongFault(thrown: unknown, cut: Cut, response: RawResponse): Finding {
  const fault = thrown instanceof OutcomeUnknownError ? thrown.cause : thrown;
  const found = fault instanceof Error ? fault.name : String(fault);
  const { status } = response;
  const isLoss = fault instanceof (cut.manner === 'silence' ? RequestTimeoutError : ConnectionError);
  // A reset can overtake earlier bytes. The retry after a 429 can be lost too.
  const canBeLost = cut.manner === 'RST' || status === 429 || !isDelivered(cut, response);
  if (isLoss && canBeLost) return false;
  if (isDelivered(cut, response)) {
    const isRight = fault instanceof APIError && fault.status === status;
    return !isRight && `${found} after a response with ${status}`;
  }
  const isHalf =
    response.endsByClosing && cut.manner !== 'silence' && fault instanceof UnexpectedResponseError;
  return !isHalf && `${found} after ${cut.manner}`;
}

/** Whether enough of the response was written to read its meaning. */
export function isDelivered({ side, manner, bytes }: Cut, response: RawResponse): boolean {
  if (side === 'request' || (response.endsByClosing && manner === 'silence')) return false;
  return bytes >= (response.status >= 400 ? response.headLength : response.bytes.length);
}
