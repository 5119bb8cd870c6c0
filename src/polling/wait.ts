import type { Transaction } from '../contract/transaction.ts';
import type { Poll, PollingRules } from '../polling-options.ts';
import type { Abortable } from './abort-groups.ts';
import type { HeapItem } from './heap.ts';
import type { PollGroup } from './shared-poll.ts';

/** A wait that was asked for, checked and with every default filled in. */
export interface ResolvedWait {
  reference: string;
  /** The reference as it may be printed, if that differs. */
  shown?: string;
  rules: PollingRules;
  timeout: number;
  startedAt: number | undefined;
  signal: AbortSignal | undefined;
  headers: Readonly<Record<string, string>> | undefined;
  expect: { amount: number; currency?: string | undefined } | undefined;
  onPoll: ((poll: Poll) => void) | undefined;
  /** End with the first answer, whatever its status. */
  once: boolean;
  /** Hears of each answer that does not end the wait. */
  onTransaction: ((transaction: Transaction) => void) | undefined;
}

/** One caller that waits. In the heap of deadlines by `due`, on the monotonic clock. */
export interface Waiter extends HeapItem, Abortable<Waiter> {
  readonly group: PollGroup;
  readonly request: ResolvedWait;
  /** Its place among the waits of its poll, -1 once it has left. */
  index: number;
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
export function deadlineOf({ began, request }: Waiter): number {
  return Math.ceil(began + request.timeout);
}

/** Whether its deadline has passed, and it waits for one check whose result ends it, whatever that is. */
export function isOverdue(wait: Waiter): boolean {
  return wait.dueAt > deadlineOf(wait);
}

/** A wait that has joined a poll, in no heap yet. A poll that is under way counts: its answer will be this wait's too. */
export function createWaiter(
  group: PollGroup,
  request: ResolvedWait,
  own: Pick<Waiter, 'began' | 'startedAt' | 'resolve' | 'reject'>,
): Waiter {
  const { began, startedAt, resolve, reject } = own;
  // Spread out, each would take 32 bytes more.
  return {
    group,
    request,
    index: group.waits.length,
    began,
    startedAt,
    attemptsBefore: group.attempts - (group.inFlight ? 1 : 0),
    resolve,
    reject,
    dueAt: 0,
    heapIndex: -1,
    abortGroup: null,
    previous: null,
    next: null,
  };
}
