import { ClosedError } from '../errors.ts';
import type { Report, WaitEvent } from '../events.ts';
import type { ResolvedPolling } from '../polling-options.ts';
import { AbortGroups } from './abort-groups.ts';
import { Alarm } from './alarm.ts';
import { Heap } from './heap.ts';
import { copyOf, type Ending, endingsOf, isWanted } from './judge.ts';
import { Pace } from './pace.ts';
import {
  HINT_INTERVAL,
  momentFor,
  nextMoment,
  note,
  type Outcome,
  type PollOnce,
  type SharedPoll,
  sharedPoll,
} from './shared-poll.ts';
import { pollEvent, tell, timeoutError, waitEvent } from './telling.ts';
import { newWait, type Wait, type WaitRequest } from './wait.ts';

/**
 * Polls wait for each other this long after a wake-up, which costs as much as ten of them. Deadlines do not. In
 * milliseconds.
 */
const REST = 5;

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
  readonly #alarm = new Alarm(() => this.#wake());
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
    const now = performance.now();
    const wallNow = Date.now();
    const { startedAt = wallNow, signal } = request;
    const began = Math.round(now - Math.max(0, wallNow - startedAt));
    const poll = this.#polls.get(request.reference) ?? this.#newPoll(request, began);
    const wait = newWait(poll, request, { began, startedAt, resolve, reject });
    if (wait.place === 0) poll.waits = [wait];
    else poll.waits.push(wait);
    if (signal) this.#signals.join(signal, wait);
    this.#deadlines.put(wait, Math.ceil(began + request.timeout));
    if (!poll.inFlight) this.#plan(poll, momentFor(poll, wait, now));
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
    const now = performance.now();
    if (poll.inFlight) poll.hinted = true;
    else this.#bringForward(poll, now);
    this.#setAlarm(now);
  }

  /** The service answered 429 to any call of the client. */
  rateLimited(retryAfter: number | undefined): void {
    this.#pace.pause(performance.now(), retryAfter);
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
    if (poll.slot === -1 || moment < poll.due) this.#due.put(poll, Math.ceil(moment));
  }

  #bringForward(poll: SharedPoll, now: number): void {
    const moment = Math.ceil(Math.max(now, poll.hintedAt + HINT_INTERVAL));
    if (poll.slot !== -1 && poll.due <= moment) return;
    poll.hintedAt = moment;
    this.#plan(poll, moment);
  }

  #wake(): void {
    this.#wokeAt = performance.now();
    this.#expire(this.#wokeAt);
    // Whoever heard of that may have taken his time: no poll leaves on an old clock.
    for (let poll = this.#due.first; poll; poll = this.#due.first) {
      const now = performance.now();
      if (!this.#mayStart(poll, now)) break;
      if (isWanted(poll, now)) this.#start(poll, now);
      else this.#due.remove(poll);
    }
    this.#setAlarm(performance.now());
  }

  /** All of them are taken out first: a caller who hears of one and waits again would otherwise never let this end. */
  #expire(now: number): void {
    const expired: Wait[] = [];
    for (let wait = this.#deadlines.first; wait && wait.due <= now; wait = this.#deadlines.first) {
      this.#deadlines.remove(wait);
      expired.push(wait);
    }
    for (const wait of expired) this.#fail(wait, 'timeout', timeoutError(wait, now));
  }

  #mayStart(poll: SharedPoll, now: number): boolean {
    return poll.due <= now && this.#underWay < this.#maxConcurrency && this.#pace.readyAt(now) <= now;
  }

  #setAlarm(now: number): void {
    const deadline = this.#deadlines.first;
    if (deadline) this.#alarm.setFor(deadline.due, now);
    const poll = this.#due.first;
    if (poll && this.#underWay < this.#maxConcurrency) {
      const rested = Math.min(this.#wokeAt, now) + REST;
      this.#alarm.setFor(Math.max(poll.due, this.#pace.readyAt(now), rested), now);
    }
  }

  #start(poll: SharedPoll, now: number): void {
    const late = Math.round(now - poll.due);
    const inFlight = new AbortController();
    this.#due.remove(poll);
    this.#pace.take(now);
    this.#underWay++;
    poll.attempts++;
    poll.inFlight = inFlight;
    const ended = (outcome: Outcome) => {
      this.#underWay--;
      if (poll.inFlight === inFlight) {
        poll.inFlight = undefined;
        this.#heed(poll, outcome, late, performance.now());
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
      this.#end(wait, how);
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

  #end(wait: Wait, how: Ending): void {
    if (how.transaction) {
      wait.resolve(how.transaction);
      this.#report(waitEvent(wait, 'final'));
    } else this.#reject(wait, 'failed', how.reason);
  }

  #fail(wait: Wait, result: WaitEvent['result'], reason: unknown): void {
    if (this.leave(wait)) this.#reject(wait, result, reason);
  }

  #reject(wait: Wait, result: WaitEvent['result'], reason: unknown): void {
    wait.reject(reason);
    this.#report(waitEvent(wait, result));
  }
}
