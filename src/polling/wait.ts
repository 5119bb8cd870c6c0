import type { Transaction } from '../contract/transaction.ts';
import type { Poll, PollingRules } from '../polling-options.ts';
import type { Abortable } from './abort-groups.ts';
import type { Timed } from './heap.ts';
import type { SharedPoll } from './shared-poll.ts';

/** A wait that was asked for, checked and with every default filled in. */
export interface WaitRequest {
  reference: string;
  rules: PollingRules;
  timeout: number;
  startedAt: number | undefined;
  signal: AbortSignal | undefined;
  headers: Readonly<Record<string, string>> | undefined;
  expect: { amount?: number | undefined; currency?: string | undefined } | undefined;
  onPoll: ((poll: Poll) => void) | undefined;
  /** End with the first answer, whatever its status. */
  oneLook: boolean;
  /** Hears of each answer that does not end the wait. */
  onTransaction: ((transaction: Transaction) => void) | undefined;
}

/** One caller that waits. In the heap of deadlines by `due`, on the monotonic clock. */
export interface Wait extends Timed, Abortable<Wait> {
  readonly poll: SharedPoll;
  readonly request: WaitRequest;
  /** Its place among the waits of its poll, -1 once it has left. */
  place: number;
  /** When its time began to count, on the monotonic clock and on the wall's. */
  readonly began: number;
  readonly startedAt: number;
  /** The shared attempts that were made before it joined. */
  readonly attemptsBefore: number;
  readonly resolve: (transaction: Transaction) => void;
  readonly reject: (reason: unknown) => void;
}

/** How long the one check of a wait may take whose deadline has passed without it, in milliseconds. */
export const LAST_CHECK = 10_000;

/** When its time is over: `due`, unless it is granted one more check. */
export function deadlineOf({ began, request }: Wait): number {
  return Math.ceil(began + request.timeout);
}

/** Whether its deadline has passed, and it waits for one check whose result ends it, whatever that is. */
export function isOverdue(wait: Wait): boolean {
  return wait.due > deadlineOf(wait);
}

/** A wait that has joined a poll, in no heap yet. A poll that is under way counts: its answer will be this wait's too. */
export function newWait(
  poll: SharedPoll,
  request: WaitRequest,
  own: Pick<Wait, 'began' | 'startedAt' | 'resolve' | 'reject'>,
): Wait {
  const { began, startedAt, resolve, reject } = own;
  // Spread out, each would take 32 bytes more.
  return {
    poll,
    request,
    place: poll.waits.length,
    began,
    startedAt,
    attemptsBefore: poll.attempts - (poll.inFlight ? 1 : 0),
    resolve,
    reject,
    due: 0,
    slot: -1,
    group: null,
    before: null,
    after: null,
  };
}
