import { Heap } from '../support/heap.ts';
import { NOTIFY_INTERVAL } from '../support/timing.ts';
import { PollingClock } from './clock.ts';
import type { PollLimits } from './limits.ts';
import { hasLiveWaiters } from './poll-group.ts';
import { isPastDeadline, type PollGroup, type Waiter } from './waiter.ts';

export interface DueActions {
  /** Starts the poll of a group. `lag` is how late it is, in milliseconds. Its end is told by {@link PollLoop.endPoll}. */
  startPoll(group: PollGroup, lag: number, now: number): void;
  /** Gives up the poll in flight, if there is one: the process was frozen, and its result would be too old. */
  giveUpPoll(group: PollGroup): void;
  endWait(waiter: Waiter, now: number): void;
  listGroups(): Iterable<PollGroup>;
}

/**
 * When something is due: one timer for all polls and deadlines of a client. Each has a heap, so that a deadline is kept even if no
 * poll can leave. What is done then, and for whom, is the poller's.
 */
export class PollLoop {
  readonly #actions: DueActions;
  readonly #limits: PollLimits;
  readonly #polls = new Heap<PollGroup>();
  readonly #deadlines = new Heap<Waiter>();
  readonly #clock = new PollingClock(() => this.#tick());
  #lastTick = Number.NEGATIVE_INFINITY;
  /** Whether the last tick came after a freeze, and started no poll. */
  #isResuming = false;

  constructor(actions: DueActions, limits: PollLimits) {
    this.#actions = actions;
    this.#limits = limits;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Begins with the first wait: a sleep before it says nothing. */
  begin(now: number): void {
    this.#clock.watchSleep(now);
  }

  /** Ends with the last wait, so that a process with nothing else to do can exit. */
  stop(): void {
    this.#clock.clear();
  }

  setDeadline(waiter: Waiter): void {
    this.#deadlines.upsert(waiter, waiter.deadline);
  }

  removeDeadline(waiter: Waiter): void {
    this.#deadlines.remove(waiter);
  }

  /** Brings the poll of a group forward to `time`, unless it is due before. */
  schedulePoll(group: PollGroup, time: number): void {
    const dueAt = Math.ceil(time);
    if (group.heapIndex === -1 || dueAt < group.dueAt) this.#polls.upsert(group, dueAt);
  }

  removePoll(group: PollGroup): void {
    this.#polls.remove(group);
  }

  /** Brings the next poll forward to now, or to the end of {@link NOTIFY_INTERVAL}. */
  expedite(group: PollGroup, now: number): void {
    const time = Math.ceil(Math.max(now, group.notifiedAt + NOTIFY_INTERVAL));
    if (group.heapIndex !== -1 && group.dueAt <= time) return;
    group.notifiedAt = time;
    this.schedulePoll(group, time);
  }

  /** Grants one check, whose result ends the wait: its deadline passed while the process could not check. */
  grantFinalCheck(waiter: Waiter, now: number): void {
    const { group, deadline } = waiter;
    this.#deadlines.upsert(waiter, Math.ceil(now) + FINAL_CHECK_TIMEOUT);
    if (group.inFlight) return;
    if (group.attempts > 0) this.expedite(group, now);
    // Ahead of the polls that became due later.
    else this.schedulePoll(group, Math.max(deadline, now - MAX_OVERDUE));
  }

  /** Wakes for what is due first. Call it after each change. */
  setTimer(now: number): void {
    const waiter = this.#deadlines.first;
    if (waiter) this.#clock.wakeAt(waiter.dueAt, now);
    const group = this.#polls.first;
    if (!group) return;
    const startAt = this.#limits.planStart(group.dueAt, now);
    if (startAt !== undefined) this.#clock.wakeAt(Math.max(startAt, this.#lastTick + TICK_INTERVAL), now);
  }

  /** Frees the slot of a poll that has ended, and then starts what is due. `handle` gets the time of the end. */
  endPoll(handle: (endedAt: number) => void): void {
    const endedAt = this.#clock.now();
    this.#limits.recordEnd(endedAt);
    handle(endedAt);
    this.#tick();
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#lastTick = now;
    const hasSlept = this.#clock.hasSlept(now);
    if (hasSlept) this.#pollAllSoon(now);
    const hasMissed = this.#expireDeadlines(now);
    // After a freeze polls wait for one turn of the event loop: until then a connection that has closed looks open.
    // Not twice in a row: each step of a fake clock can look like a freeze.
    this.#isResuming = (hasSlept || hasMissed) && !this.#isResuming;
    if (this.#isResuming) this.#clock.clear();
    else this.#startDuePolls();
    this.setTimer(this.#clock.now());
  }

  /** The machine has slept. Requests from before the sleep are given up. */
  #pollAllSoon(now: number): void {
    for (const group of this.#actions.listGroups()) {
      this.#actions.giveUpPoll(group);
      this.expedite(group, now);
    }
  }

  /** Ends each wait whose deadline has passed. Returns whether any deadline was missed: that wait gets a check instead. */
  #expireDeadlines(now: number): boolean {
    const expired: Waiter[] = [];
    let hasMissed = false;
    // All are taken out first: a caller who waits again when a wait ends would keep this loop going for ever.
    for (let waiter = this.#deadlines.first; waiter && waiter.dueAt <= now; waiter = this.#deadlines.first) {
      this.#deadlines.remove(waiter);
      if (this.#isMissed(waiter, now)) {
        hasMissed = true;
        this.#actions.giveUpPoll(waiter.group);
        this.grantFinalCheck(waiter, now);
      } else expired.push(waiter);
    }
    for (const waiter of expired) this.#actions.endWait(waiter, now);
    return hasMissed;
  }

  /** Whether this process, and not the service or a limit, kept a wait from its checks until its deadline. */
  #isMissed(waiter: Waiter, now: number): boolean {
    const { group, dueAt } = waiter;
    if (isPastDeadline(waiter)) return now - dueAt >= FINAL_CHECK_TIMEOUT;
    if (now - dueAt >= MISSED_THRESHOLD) return true;
    return group.attempts === 0 && !this.#limits.canHaveHeldBack(group.dueAt, dueAt);
  }

  #startDuePolls(): void {
    // The time is read for each poll: the caller's code can run in between, and take long.
    for (let now = this.#clock.now(); ; now = this.#clock.now()) {
      const group = this.#polls.first;
      if (!group || group.dueAt > now || !this.#limits.canStart(now)) return;
      this.#polls.remove(group);
      if (!hasLiveWaiters(group, now)) continue;
      this.#limits.recordStart(now);
      this.#actions.startPoll(group, Math.round(now - group.dueAt), now);
    }
  }
}

/** Polls leave at most this often, in milliseconds: one wake-up costs as much as ten polls. Deadlines are exact. */
const TICK_INTERVAL = 5;

/**
 * A deadline that is noticed this late, in milliseconds, was missed: the process was frozen, or its thread was busy. A
 * process that runs normally is never so late.
 */
const MISSED_THRESHOLD = 1_000;

/** How long the one check after a missed deadline can take, in milliseconds. */
const FINAL_CHECK_TIMEOUT = 10_000;

/** That check counts as due at the deadline, but at most this many milliseconds ago. */
const MAX_OVERDUE = 60_000;
