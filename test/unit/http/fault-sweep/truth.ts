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

/** How a call ended, as the merchant sees it. */
export type Ending = 'resolved' | 'not_sent' | 'rejected' | 'unknown' | 'read failure' | 'untyped';

/** What a call came to, beside what really happened in the service. */
export interface Tried {
  settled: { value: unknown } | { error: unknown };
  created: number;
  elapsed: number;
  /** The longest that a call may take that keeps its timeout. */
  allowed: number;
}

export function endingOf({ settled }: Tried): Ending {
  if ('value' in settled) return 'resolved';
  return settled.error instanceof PaymentsError ? (settled.error.outcome ?? 'read failure') : 'untyped';
}

export type Finding = string | false;

export const isFound = (finding: Finding) => finding !== false;

/** Everything that is untrue about how a call ended, wherever the service went away. */
export function untruths(subject: Subject, { settled, created, elapsed, allowed }: Tried): string[] {
  const findings = [
    created > (subject.creates ? 1 : 0) && `the service made ${created}`,
    elapsed > allowed && `it took ${Math.round(elapsed)} ms where ${Math.round(allowed)} were allowed`,
    ...('value' in settled
      ? untrueResult(subject, settled.value, created)
      : untrueError(subject, settled.error, created)),
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

/** Whether the error, or what it names as the cause of the doubt, tells what happened at this point. */
export function wrongFault(thrown: unknown, cut: Cut, answer: RawResponse): Finding {
  const fault = thrown instanceof OutcomeUnknownError ? thrown.cause : thrown;
  const found = fault instanceof Error ? fault.name : String(fault);
  const { status } = answer;
  const isLoss = fault instanceof (cut.manner === 'silence' ? RequestTimeoutError : ConnectionError);
  // A reset may overtake what was written before it; what a 429 made go out again may get lost in its turn.
  const mayBeLost = cut.manner === 'RST' || status === 429 || !isTold(cut, answer);
  if (isLoss && mayBeLost) return false;
  if (isTold(cut, answer)) {
    const isRight = fault instanceof APIError && fault.status === status;
    return !isRight && `${found} where ${status} was answered`;
  }
  const isHalf = answer.endsByClosing && cut.manner !== 'silence' && fault instanceof UnexpectedResponseError;
  return !isHalf && `${found} after ${cut.manner}`;
}

/** Enough of the answer went out to know what the service says. */
export function isTold({ side, manner, bytes }: Cut, answer: RawResponse): boolean {
  if (side === 'request' || (answer.endsByClosing && manner === 'silence')) return false;
  return bytes >= (answer.status >= 400 ? answer.headLength : answer.bytes.length);
}
