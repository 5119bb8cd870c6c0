import { RateLimitError } from '../api-errors.ts';
import { ClosedError } from '../errors.ts';
import type { Report, WaitEvent } from '../events.ts';
import type { ResolvedPolling } from '../polling-options.ts';
import { AbortGroups } from './abort-groups.ts';
import { Alarm } from './alarm.ts';
import { Clock } from './clock.ts';
import { Heap } from './heap.ts';
import { copyOf, type Ending, endingsOf, isWanted } from './judge.ts';
import { Pace } from './pace.ts';
import {
  HINT_INTERVAL,
  isAccepted,
  momentFor,
  nextMoment,
  note,
  type Outcome,
  type PollOnce,
  type SharedPoll,
  sharedPoll,
} from './shared-poll.ts';
import { pollEvent, tell, timeoutError, waitEvent } from './telling.ts';
import { deadlineOf, isOverdue, LAST_CHECK, newWait, type Wait, type WaitRequest } from './wait.ts';

/**
 * Polls wait for each other this long after a wake-up, which costs as much as ten of them. Deadlines do not. In
 * milliseconds.
 */
const REST = 5;

/**
 * A deadline that is noticed this late was missed: the process was frozen, or its thread was busy. No process that runs
 * normally is so late. In milliseconds.
 */
const MISSED = 1_000;

/** The wall's clock ran ahead of the other by this much: the machine slept, or somebody set the clock. */
const SLEPT = 10_000;

/** The one check of a wait counts as due at its deadline, but not longer ago than this. In milliseconds. */
const LONGEST_OVERDUE = 60_000;

const TOO_OLD = new Error('The process was frozen meanwhile: this answer would be too old.');

const NOBODY_WAITS = new Error('Nobody waits for this answer any more.');

/**
 * All waits of one client. They share one timer, one listener for each signal, one poll for each reference, and one
 * limit. Polls and deadlines each have a heap, so that a deadline is kept also where no poll can leave.
 */
export class Waits {
  /** What else the close ends: it may have no wait just then. */
  readonly closers = new Set<(reason: ClosedError) => void>();
  readonly #pollOnce: PollOnce;
  readonly #report: Report;
  readonly #maxConcurrency: number;
  readonly #pace: Pace;
  readonly #polls = new Map<string, SharedPoll>();
  readonly #due = new Heap<SharedPoll>();
  readonly #deadlines = new Heap<Wait>();
  readonly #signals = new AbortGroups<Wait>((wait, reason) => this.#fail(wait, 'aborted', reason));
  readonly #clock = new Clock();
  readonly #alarm = new Alarm((moment) => {
    this.#clock.reach(moment);
    this.#wake();
  });
  /** How far the wall's clock was ahead of the other when that was last noted. */
  #lead = 0;
  /** Until when the limits held back a poll that was due, as far as that is known. */
  #heldBackUntil = Number.NEGATIVE_INFINITY;
  #wokeAt = Number.NEGATIVE_INFINITY;
  #underWay = 0;
  #closed = false;

  constructor(pollOnce: PollOnce, { maxConcurrency, maxRequestsPerSecond }: ResolvedPolling, report: Report) {
    this.#pollOnce = pollOnce;
    this.#report = report;
    this.#maxConcurrency = maxConcurrency;
    this.#pace = new Pace(maxRequestsPerSecond);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Begins a wait; what it returns can leave before the end. */
  join(request: WaitRequest, resolve: Wait['resolve'], reject: Wait['reject']): Wait | undefined {
    if (this.#closed || request.signal?.aborted) {
      reject(this.#closed ? new ClosedError('verify') : request.signal?.reason);
      return undefined;
    }
    const now = this.#clock.now();
    const wallNow = Date.now();
    if (this.#polls.size === 0) this.#lead = wallNow - now;
    const { startedAt = wallNow, signal } = request;
    const began = Math.round(now - Math.max(0, wallNow - startedAt));
    const poll = this.#polls.get(request.reference) ?? this.#newPoll(request, began);
    const wait = newWait(poll, request, { began, startedAt, resolve, reject });
    if (wait.place === 0) poll.waits = [wait];
    else poll.waits.push(wait);
    if (signal) this.#signals.join(signal, wait);
    if (deadlineOf(wait) <= now) this.#checkOnce(wait, now);
    else {
      this.#deadlines.put(wait, deadlineOf(wait));
      if (!poll.inFlight) this.#plan(poll, momentFor(poll, wait, now));
    }
    this.#setAlarm(now);
    return wait;
  }

  /** Ends a wait without a word to its caller. Nothing is asked for one that nobody waits for. */
  leave(wait: Wait): boolean {
    const { poll, place } = wait;
    if (place === -1) return false;
    const last = poll.waits.pop();
    if (last && last !== wait) {
      poll.waits[place] = last;
      last.place = place;
    }
    wait.place = -1;
    this.#signals.leave(wait);
    this.#deadlines.remove(wait);
    if (poll.waits.length === 0) this.#drop(poll);
    return true;
  }

  /** A hint that something may have happened: ask again now, if somebody waits, and at most once in a second. */
  notify(reference: string): void {
    const poll = this.#polls.get(reference);
    if (!poll) return;
    const now = this.#clock.now();
    if (poll.inFlight) poll.hinted = true;
    else this.#bringForward(poll, now);
    this.#setAlarm(now);
  }

  /** The service answered 429 to any call of the client: about this reference, or about none. */
  rateLimited(retryAfter: number | undefined, reference: string | undefined): void {
    this.#pace.refused(this.#clock.now(), retryAfter, reference);
  }

  /** Ends every wait, and each that comes later. */
  close(): void {
    this.#closed = true;
    for (const poll of [...this.#polls.values()]) {
      for (const wait of [...poll.waits]) this.#fail(wait, 'closed', new ClosedError('verify'));
    }
    for (const stop of [...this.closers]) stop(new ClosedError('verify'));
  }

  #newPoll(request: WaitRequest, began: number): SharedPoll {
    const poll = sharedPoll(request, began);
    this.#polls.set(request.reference, poll);
    return poll;
  }

  #drop(poll: SharedPoll): void {
    this.#polls.delete(poll.reference);
    this.#due.remove(poll);
    poll.inFlight?.abort(NOBODY_WAITS);
    poll.inFlight = undefined;
    if (this.#polls.size === 0) this.#alarm.clear();
  }

  #plan(poll: SharedPoll, moment: number): void {
    const due = Math.ceil(Math.max(moment, this.#pace.heldUntil(poll.reference)));
    if (poll.slot === -1 || due < poll.due) this.#due.put(poll, due);
  }

  /** The deadline of this wait has passed without it: it gets one check, whose result ends it. */
  #checkOnce(wait: Wait, now: number): void {
    const { poll } = wait;
    this.#deadlines.put(wait, Math.ceil(now) + LAST_CHECK);
    if (poll.inFlight) return;
    if (poll.attempts > 0) this.#bringForward(poll, now);
    // Ahead of those that became due later.
    else this.#plan(poll, Math.max(deadlineOf(wait), now - LONGEST_OVERDUE));
  }

  #bringForward(poll: SharedPoll, now: number): void {
    const moment = Math.ceil(Math.max(now, poll.hintedAt + HINT_INTERVAL));
    if (poll.slot !== -1 && poll.due <= moment) return;
    poll.hintedAt = moment;
    this.#plan(poll, moment);
  }

  #wake(): void {
    const now = this.#clock.now();
    this.#wokeAt = now;
    const slept = this.#noticeSleep(now);
    const missed = this.#expire(now);
    // After a freeze polls rest first: until the event loop has turned, a connection that has closed looks open.
    if (slept || missed) this.#alarm.clear();
    else this.#startDue();
    this.#setAlarm(this.#clock.now());
  }

  #startDue(): void {
    // Whoever heard of a deadline may have taken his time: no poll leaves on an old clock.
    for (let now = this.#clock.now(); this.#mayStart(now); now = this.#clock.now()) {
      const poll = this.#pace.isPaused(now) ? this.#probe(now) : this.#due.first;
      if (!poll) return;
      if (isWanted(poll, now)) this.#start(poll, now);
      else this.#due.remove(poll);
    }
  }

  /** Asks for all again soon if the machine has slept, on connections that are not from before. */
  #noticeSleep(now: number): boolean {
    const lead = Date.now() - now;
    const slept = lead - this.#lead >= SLEPT;
    this.#lead = lead;
    if (!slept) return false;
    for (const poll of this.#polls.values()) {
      this.#giveUp(poll);
      this.#bringForward(poll, now);
    }
    return true;
  }

  /**
   * All of them are taken out first: a caller who hears of one and waits again would otherwise never let this end.
   * Returns whether the deadline of any was missed, so that it gets a check instead.
   */
  #expire(now: number): boolean {
    const expired: Wait[] = [];
    let missed = false;
    for (let wait = this.#deadlines.first; wait && wait.due <= now; wait = this.#deadlines.first) {
      this.#deadlines.remove(wait);
      if (this.#isMissed(wait, now)) {
        missed = true;
        this.#giveUp(wait.poll);
        this.#checkOnce(wait, now);
      } else expired.push(wait);
    }
    for (const wait of expired) this.#fail(wait, 'timeout', timeoutError(wait, now), now);
    return missed;
  }

  /** Whether this process, and not the service or a limit, kept a wait from its checks until its deadline. */
  #isMissed(wait: Wait, now: number): boolean {
    const { poll, due } = wait;
    if (isOverdue(wait)) return now - due >= LAST_CHECK;
    if (now - due >= MISSED) return true;
    // A poll that was due later was held back by a 429 to its reference.
    return poll.attempts === 0 && poll.due <= due && poll.due >= this.#heldBackUntil && this.#isFree;
  }

  /** Leaves the request that is under way: another will be made in its place. */
  #giveUp(poll: SharedPoll): void {
    poll.inFlight?.abort(TOO_OLD);
    poll.inFlight = undefined;
  }

  get #isFree(): boolean {
    return this.#underWay < this.#maxConcurrency;
  }

  #mayStart(now: number): boolean {
    const poll = this.#due.first;
    if (!poll || poll.due > now || !this.#isFree) return false;
    return this.#pace.readyAt(now) <= now;
  }

  /** Any poll that is due, rather than the first: those that the service refuses may be the first ones. */
  #probe(now: number): SharedPoll | undefined {
    for (let count = 0; count < 5; count++) {
      const poll = this.#due.any(Math.random());
      if (poll && poll.due <= now && !(poll.lastError instanceof RateLimitError)) return poll;
    }
    return this.#due.first;
  }

  #setAlarm(now: number): void {
    const deadline = this.#deadlines.first;
    if (deadline) this.#alarm.setFor(deadline.due, now);
    const poll = this.#due.first;
    if (!poll) return;
    const isFree = this.#isFree;
    const readyAt = this.#pace.readyAt(now);
    if (!isFree || readyAt > Math.max(poll.due, now))
      this.#heldBackUntil = Math.max(this.#heldBackUntil, Math.ceil(isFree ? readyAt : now + 1));
    if (isFree) this.#alarm.setFor(Math.max(poll.due, readyAt, this.#wokeAt + REST), now);
  }

  #start(poll: SharedPoll, now: number): void {
    const late = Math.round(now - poll.due);
    const inFlight = new AbortController();
    this.#due.remove(poll);
    this.#pace.take(now, poll.reference);
    this.#underWay++;
    poll.attempts++;
    poll.inFlight = inFlight;
    const ended = (outcome: Outcome) => {
      const endedAt = this.#clock.now();
      this.#underWay--;
      if (isAccepted(outcome)) this.#pace.accepted(endedAt, now, poll.reference);
      if (poll.inFlight === inFlight) {
        poll.inFlight = undefined;
        this.#heed(poll, outcome, late, endedAt);
      }
      this.#wake();
    };
    this.#pollOnce(poll.reference, { signal: inFlight.signal, headers: poll.headers }).then(
      (answer) => ended({ answer, error: undefined }),
      (error: unknown) => ended({ answer: undefined, error }),
    );
  }

  #heed(poll: SharedPoll, outcome: Outcome, late: number, now: number): void {
    note(poll, outcome, now);
    const transaction = outcome.answer?.result;
    const ending = endingsOf(poll, outcome, now);
    for (const { wait } of ending) this.leave(wait);
    const staying = [...poll.waits];
    const next = staying.length === 0 ? Number.POSITIVE_INFINITY : this.#planNext(poll, now);

    // All is in order again, so a caller who hears of this may begin, end and close whatever he likes.
    const delay = staying.some(({ due }) => next < due) ? Math.ceil(next - now) : null;
    this.#report(pollEvent(poll, outcome, late, delay));
    for (const { wait, how } of ending) {
      tell(wait, outcome, now, null);
      this.#end(wait, how, now);
    }
    for (const wait of staying) {
      if (wait.place !== -1) tell(wait, outcome, now, next < wait.due ? delay : null);
      if (wait.place !== -1 && transaction) wait.request.onTransaction?.(copyOf(transaction));
    }
  }

  #planNext(poll: SharedPoll, now: number): number {
    this.#plan(poll, nextMoment(poll, now));
    if (poll.hinted) this.#bringForward(poll, now);
    poll.hinted = false;
    return poll.due;
  }

  #end(wait: Wait, how: Ending, now: number): void {
    if (how.result === 'timeout' && how.transaction) wait.request.onTransaction?.(how.transaction);
    if (how.result === 'final') wait.resolve(how.transaction);
    else wait.reject(how.result === 'failed' ? how.reason : timeoutError(wait, now));
    this.#report(waitEvent(wait, how.result, now));
  }

  #fail(wait: Wait, result: WaitEvent['result'], reason: unknown, now = this.#clock.now()): void {
    if (!this.leave(wait)) return;
    wait.reject(reason);
    this.#report(waitEvent(wait, result, now));
  }
}
