import type { Transaction } from '../contract/transaction.ts';
import { ClosedError } from '../errors.ts';
import type { Report, WaitEvent } from '../events.ts';
import type { ResolvedPolling } from '../polling-options.ts';
import { AbortGroups } from './abort-groups.ts';
import { Alarm } from './alarm.ts';
import { Heap } from './heap.ts';
import { contradiction, ends, isPassing } from './judge.ts';
import { Pace } from './pace.ts';
import {
  lastLook,
  nextMoment,
  note,
  type Outcome,
  type PollOnce,
  type SharedPoll,
  sharedPoll,
} from './shared-poll.ts';
import { pollEvent, tell, timeoutError, waitEvent } from './telling.ts';
import type { Wait, WaitRequest } from './wait.ts';

/** A hint brings a poll forward at most this often for each reference. */
const HINT_INTERVAL = 1_000;

const NOBODY_WAITS = new Error('Nobody waits for this answer any more.');

/**
 * All waits of one client. They share one timer, one listener for each signal, one poll for each reference, and one
 * limit. Polls and deadlines each have a heap, so that a deadline is kept also where no poll can leave.
 */
export class Waits {
  readonly #pollOnce: PollOnce;
  readonly #report: Report;
  readonly #maxConcurrency: number;
  readonly #pace: Pace;
  readonly #polls = new Map<string, SharedPoll>();
  readonly #due = new Heap<SharedPoll>();
  readonly #deadlines = new Heap<Wait>();
  readonly #signals = new AbortGroups<Wait>((wait, reason) => this.#fail(wait, 'aborted', reason));
  readonly #alarm = new Alarm(() => this.#wake());
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
    const { startedAt = Date.now(), rules, signal } = request;
    const began = Math.round(now - Math.max(0, Date.now() - startedAt));
    const poll = this.#polls.get(request.reference) ?? this.#newPoll(request, began);
    // A poll that is under way counts: its answer will be this wait's too.
    const attemptsBefore = poll.attempts - (poll.inFlight ? 1 : 0);
    const links = { group: null, before: null, after: null };
    const wait: Wait = {
      poll,
      request,
      began,
      startedAt,
      attemptsBefore,
      resolve,
      reject,
      due: 0,
      slot: -1,
      ...links,
    };
    poll.waits.push(wait);
    if (signal) this.#signals.join(signal, wait);
    this.#deadlines.put(wait, Math.ceil(began + request.timeout));
    if (poll.attempts === 0) {
      const firstLook = request.startedAt === undefined ? now : began + rules.initialDelay;
      this.#plan(poll, Math.max(now, Math.min(firstLook, lastLook(wait))));
    }
    this.#setAlarm(now);
    return wait;
  }

  /** Ends a wait without a word to its caller. Nothing is asked for one that nobody waits for. */
  leave(wait: Wait): boolean {
    const { poll } = wait;
    const place = poll.waits.lastIndexOf(wait);
    if (place === -1) return false;
    const last = poll.waits.pop();
    if (last && last !== wait) poll.waits[place] = last;
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
    const moment = Math.max(now, poll.hintedAt + HINT_INTERVAL);
    if (poll.slot !== -1 && poll.due <= moment) return;
    poll.hintedAt = moment;
    this.#plan(poll, moment);
  }

  #wake(): void {
    const now = performance.now();
    for (let wait = this.#deadlines.first; wait && wait.due <= now; wait = this.#deadlines.first) {
      this.#fail(wait, 'timeout', timeoutError(wait, now));
    }
    this.#startDue(now);
  }

  #startDue(now: number): void {
    for (let poll = this.#due.first; poll && this.#mayStart(poll, now); poll = this.#due.first)
      this.#start(poll, now);
    this.#setAlarm(now);
  }

  #mayStart(poll: SharedPoll, now: number): boolean {
    return poll.due <= now && this.#underWay < this.#maxConcurrency && this.#pace.readyAt(now) <= now;
  }

  #setAlarm(now: number): void {
    const deadline = this.#deadlines.first;
    if (deadline) this.#alarm.setFor(deadline.due, now);
    const poll = this.#due.first;
    if (poll && this.#underWay < this.#maxConcurrency) {
      this.#alarm.setFor(Math.max(poll.due, this.#pace.readyAt(now)), now);
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
      const then = performance.now();
      if (poll.inFlight === inFlight) {
        poll.inFlight = undefined;
        this.#heed(poll, outcome, late, then);
      }
      this.#startDue(then);
    };
    this.#pollOnce(poll.reference, { signal: inFlight.signal, headers: poll.headers }).then(
      (answer) => ended({ answer, error: undefined }),
      (error: unknown) => ended({ answer: undefined, error }),
    );
  }

  #heed(poll: SharedPoll, outcome: Outcome, late: number, now: number): void {
    const transaction = outcome.answer?.result;
    note(poll, outcome, now);
    const over = !transaction && !isPassing(poll, outcome.error, now);
    const ending = new Set(poll.waits.filter((wait) => over || (transaction && ends(wait, transaction))));
    const delay = ending.size === poll.waits.length ? null : this.#planNext(poll, ending, outcome, now);
    this.#report(pollEvent(poll, outcome, late, delay));
    for (const wait of [...poll.waits]) tell(wait, outcome, now, ending.has(wait) ? null : delay);
    for (const wait of ending) {
      if (transaction) this.#finish(wait, transaction);
      else this.#fail(wait, 'failed', outcome.error);
    }
  }

  #planNext(poll: SharedPoll, ending: Set<Wait>, outcome: Outcome, now: number): number | null {
    const moment = nextMoment(poll, ending, outcome, now);
    if (moment !== null) this.#plan(poll, moment);
    if (poll.hinted) this.#bringForward(poll, now);
    poll.hinted = false;
    return poll.slot === -1 ? null : Math.max(0, Math.ceil(poll.due - now));
  }

  #finish(wait: Wait, transaction: Transaction): void {
    const wrong = contradiction(wait, transaction);
    if (wrong) this.#fail(wait, 'failed', wrong);
    else if (this.leave(wait)) {
      wait.resolve(transaction);
      this.#report(waitEvent(wait, 'final'));
    }
  }

  #fail(wait: Wait, result: WaitEvent['result'], reason: unknown): void {
    if (!this.leave(wait)) return;
    wait.reject(reason);
    this.#report(waitEvent(wait, result));
  }
}
