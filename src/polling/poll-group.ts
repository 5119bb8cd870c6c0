import { APIError, NotFoundError, PaymentsError, RateLimitError } from '../errors.ts';
import type { PollingRules } from '../options.ts';
import { nextDelay } from '../schedule.ts';
import { NOT_FOUND_GRACE, NOTIFY_INTERVAL } from '../support/timing.ts';
import { limitRetryAfter, MAX_BACKOFF } from './limits.ts';
import type { NormalizedWait } from './normalize-wait.ts';
import { getFinalPollTime, type PollGroup, type PollResult, type Waiter } from './waiter.ts';

export function createPollGroup({ reference, headers }: NormalizedWait, startedMono: number): PollGroup {
  return {
    reference,
    headers,
    startedMono,
    waiters: [],
    attempts: 0,
    lastTransaction: undefined,
    lastError: undefined,
    notFoundSince: undefined,
    // Whole numbers only: a fraction takes 16 bytes more in each field.
    lastPollAt: -1,
    notBefore: -1,
    notifiedAt: -NOTIFY_INTERVAL,
    isNotified: false,
    inFlight: undefined,
    dueAt: 0,
    heapIndex: -1,
  };
}

export function addWaiter(group: PollGroup, waiter: Waiter): void {
  // A list made by `push` would have room for 17.
  if (waiter.index === 0) group.waiters = [waiter];
  else group.waiters.push(waiter);
}

/** Takes a waiter out of its group: the last one gets its index. Returns whether it was there. */
export function removeWaiter(waiter: Waiter): boolean {
  const { group, index } = waiter;
  if (index === -1) return false;
  const last = group.waiters.pop();
  if (last && last !== waiter) {
    group.waiters[index] = last;
    last.index = index;
  }
  waiter.index = -1;
  return true;
}

/** Whether any wait has time left. Those without end at their deadline. */
export function hasLiveWaiters({ waiters }: PollGroup, now: number): boolean {
  return waiters.some(({ dueAt }) => dueAt > now);
}

/**
 * Returns when to poll for a wait that joins. The first poll is due when this wait asks for it. A later one is due in time
 * for its final poll, and no later than this wait would poll alone.
 */
export function planPollForNewWaiter(
  waiter: Waiter,
  { rules, startedAt }: Pick<NormalizedWait, 'rules' | 'startedAt'>,
  now: number,
): number {
  const { group, startedMono } = waiter;
  const finalPollAt = getFinalPollTime(waiter);
  if (group.attempts === 0) {
    const firstPollAt = startedAt === undefined ? now : startedMono + rules.initialDelay;
    return Math.max(now, Math.min(firstPollAt, finalPollAt));
  }
  const { lastPollAt, notBefore } = group;
  const elapsed = Math.max(0, lastPollAt - group.startedMono);
  // The longest delay that `random` allows: a wait with the same options as the others brings no poll forward.
  const delay = nextDelay({ ...afterPoll(rules), elapsed, random: 1, timeout: Number.POSITIVE_INFINITY });
  const alone = Math.max(notBefore, lastPollAt + (delay ?? rules.minDelay));
  const pollAt = Math.max(now, Math.min(alone, Math.max(finalPollAt, lastPollAt + rules.minDelay)));
  return pollAt < waiter.dueAt ? pollAt : group.dueAt;
}

export function recordResult(group: PollGroup, result: PollResult, now: number): void {
  const { callResult, error } = result;
  if (callResult) group.lastTransaction = callResult.result;
  group.lastError = error instanceof PaymentsError ? error : undefined;
  group.notFoundSince = error instanceof NotFoundError ? (group.notFoundSince ?? now) : undefined;
  group.lastPollAt = Math.ceil(now);
  group.notBefore = Math.ceil(now + getRequestedPause(result));
}

/** Returns how long the service asked to leave this reference alone, in milliseconds. */
function getRequestedPause({ callResult, error }: PollResult): number {
  if (error instanceof RateLimitError) return limitRetryAfter(error.retryAfter);
  const retryAfter = callResult?.retryAfter ?? (error instanceof APIError ? error.retryAfter : undefined);
  return Math.min(retryAfter ?? 0, MAX_BACKOFF);
}

export function isTemporaryError({ notFoundSince }: PollGroup, error: unknown, now: number): boolean {
  if (error instanceof NotFoundError) return now - (notFoundSince ?? now) < NOT_FOUND_GRACE;
  return error instanceof PaymentsError && error.retryable;
}

/** Returns when the next poll is due: as soon as the first of the waits would poll alone. */
export function planNextPoll({ startedMono, notBefore, waiters }: PollGroup, now: number): number {
  const distinctRules = new Set(waiters.map(({ rules }) => rules));
  let minDelay = Number.POSITIVE_INFINITY;
  for (const rules of distinctRules) minDelay = Math.min(minDelay, rules.minDelay);
  const elapsed = Math.max(0, now - startedMono);
  const timeout = elapsed + getTimeToFinalPoll(waiters, minDelay, now);
  const shared = { elapsed, timeout, retryAfter: notBefore - now, random: Math.random() };
  let delay = Number.POSITIVE_INFINITY;
  for (const rules of distinctRules)
    delay = Math.min(delay, nextDelay({ ...afterPoll(rules), ...shared }) ?? minDelay);
  return now + delay;
}

/** After the first poll, which a wait without `startedAt` makes at once, `minDelay` holds. */
const afterPoll = (rules: PollingRules) =>
  rules.initialDelay < rules.minDelay ? { ...rules, initialDelay: 0 } : rules;

/**
 * Returns the milliseconds to the next final poll. A final poll nearer than `minDelay` was just served, so that many
 * deadlines in a row make no burst of polls. Only if all are that near does the last one still get a poll.
 */
function getTimeToFinalPoll(waiters: readonly Waiter[], minDelay: number, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const waiter of waiters) {
    const remaining = getFinalPollTime(waiter) - now;
    if (remaining >= minDelay && remaining < next) next = remaining;
    if (remaining > last) last = remaining;
  }
  return last >= 1 && last < minDelay ? last : next;
}
