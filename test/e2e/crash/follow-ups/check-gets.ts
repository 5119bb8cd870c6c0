import { nextDelay } from '../../../../src/schedule.ts';
import type { SweeperSettings } from './settings.ts';
import type { LoggedEvent } from './sweep-log.ts';
import type { Get } from './verify-service.ts';

/** What is known of one payment's requests. */
export interface GetEvidence {
  /** When the charge began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** In the order in which the service got them. */
  readonly gets: readonly Get[];
  /** What the sweepers logged of the payment. */
  readonly events: readonly LoggedEvent[];
  readonly polling: SweeperSettings['polling'];
  /** The timeout of one check, in milliseconds. */
  readonly timeout: number;
  readonly killed: ReadonlySet<number>;
  /** When the sweepers that were not killed were told to stop, in milliseconds since 1970. */
  readonly stoppedAt: number;
}

export interface GetFindings {
  readonly violations: readonly string[];
  /** How many requests the journal does not count. */
  readonly extra: number;
  /** How many of them came from a process that was killed before it had recorded the response. */
  readonly extraByKill: number;
  /** How many requests no process has counted, though it was not killed. */
  readonly unexplained: number;
  /** How many requests came sooner after another one than the schedule allows, and no notification had asked for them. */
  readonly early: number;
}

/** Each clock shows whole milliseconds. */
const ROUNDING = 2;

/**
 * Compares the requests for one payment with its schedule. Each request must be counted in the record, but for the last
 * one of a process that was killed. And each must keep the delay that the schedule sets after the one before.
 */
export function checkGets(evidence: GetEvidence): GetFindings {
  const { gets, killed, stoppedAt, createdAt, polling } = evidence;
  const violations: string[] = [];
  const uncounted = gets.filter((get) => !findRecord(get, evidence));
  const ofKilled = uncounted.filter((get) => killed.has(get.generation));
  // The response to these was not waited for.
  const isStopped = ({ generation, at }: Get) => !killed.has(generation) && at > stoppedAt - evidence.timeout;
  const ofStopped = uncounted.filter((get) => isStopped(get));
  // If a process checks the payment meanwhile, another one checks it too, and so does the first one after a second.
  const notified = 2 * countNotifications(evidence);
  const unexplained = uncounted.length - ofKilled.length - ofStopped.length;
  if (unexplained > notified)
    violations.push(
      `${unexplained} requests are not counted, and neither kills nor notifications explain them`,
    );
  for (const [generation, own] of Map.groupBy(ofKilled, (get) => get.generation)) {
    if (own.length > 1) violations.push(`process ${generation} sent ${own.length} requests without a record`);
    if (!own.every((get) => findClaim(get, evidence)))
      violations.push(`process ${generation} sent a request without a claim`);
  }

  const firstAt = gets[0]?.at ?? Number.POSITIVE_INFINITY;
  const early = listEarly(evidence);
  if (firstAt < createdAt + polling.initialDelay - ROUNDING) early.unshift(firstAt - createdAt);
  if (early.length > notified) {
    const distances = early.map((distance) => `${distance} ms`).join(', ');
    violations.push(`${early.length} requests came too soon (${distances}), ${notified} were asked for`);
  }
  return {
    violations,
    extra: uncounted.length,
    extraByKill: ofKilled.length,
    unexplained: Math.max(0, unexplained - notified),
    early: Math.max(0, early.length - notified),
  };
}

/** A process that is killed might have made the payment due. */
function countNotifications({ events }: GetEvidence): number {
  const count = (name: LoggedEvent['event']) => events.filter(({ event }) => event === name).length;
  return count('notifying') - count('not notified');
}

/** Returns what the process that sent a request logged of its record, before it sent another one. */
function findRecord(get: Get, { events, gets }: GetEvidence): RecordEvent | undefined {
  const next = gets.find(({ generation, at }) => generation === get.generation && at > get.at);
  return events.find(
    (logged): logged is RecordEvent =>
      logged.event === 'recorded' &&
      (logged.step === 'check' || logged.step === 'final') &&
      logged.generation === get.generation &&
      logged.at >= get.at &&
      logged.at <= (next?.at ?? Number.POSITIVE_INFINITY),
  );
}

type RecordEvent = Extract<LoggedEvent, { event: 'recorded' }>;

/** Returns the claim under which a request was sent. */
function findClaim({ generation, at }: Get, { events }: GetEvidence): ClaimEvent | undefined {
  return events.findLast(
    (logged): logged is ClaimEvent =>
      logged.event === 'claimed' && logged.generation === generation && logged.at <= at,
  );
}

type ClaimEvent = Extract<LoggedEvent, { event: 'claimed' }>;

/** Returns the distances of the requests that came sooner after the one before than the schedule allows. */
function listEarly(evidence: GetEvidence): number[] {
  return evidence.gets.flatMap((get, index) => {
    // What another process has recorded meanwhile sets the schedule.
    const before = evidence.gets[index - 1];
    if (!before || get.at >= findEarliest(before, get, evidence) - ROUNDING) return [];
    return [get.at - before.at];
  });
}

/** The shortest pause after the deadline, after a mismatch, after an end, and after a 404 that lasts, in milliseconds. */
const MIN_SLOW_PAUSE = 27_000;

/**
 * Returns when the next request is due at the earliest. Its delay begins once a process has the response, at any time
 * until then, and depends on a random number.
 */
function findEarliest(before: Get, get: Get, evidence: GetEvidence): number {
  const { createdAt, polling } = evidence;
  const record = findRecord(before, evidence);
  const claim = findClaim(before, evidence);
  // A process that was killed might have recorded the response, and might have held the payment for a handler.
  const isHeld = claim !== undefined && (record === undefined || record.step === 'final');
  const isFreed = isHeld && evidence.killed.has(before.generation);
  const leaseEnd = isFreed ? claim.from + claim.lease : Number.POSITIVE_INFINITY;
  // On a busy machine the client might have given up.
  const isRead = record !== undefined && record.at - before.at < evidence.timeout;
  if (isRead && (isMismatch(before) || isEnd(before) || isGone(before, evidence)))
    return Math.min(leaseEnd, before.endedAt + MIN_SLOW_PAUSE);
  let earliest = leaseEnd;
  for (let at = before.endedAt; at <= get.at; at += STEP) {
    for (const random of [0, 0.25, 0.5, 0.75, 1]) {
      const { retryAfter } = before;
      const delay = nextDelay({ ...polling, elapsed: at - createdAt, retryAfter, random });
      earliest = Math.min(earliest, at + (delay ?? Math.max(MIN_SLOW_PAUSE, retryAfter)));
    }
    if (earliest <= get.at) break;
  }
  return earliest;
}

/** How finely the time is searched, in milliseconds. */
const STEP = 20;

function isMismatch({ told }: Get): boolean {
  return told !== undefined && told !== 'not found' && told.isMismatch;
}

/** Whether it ended without money, which might not be the end. */
function isEnd({ told }: Get): boolean {
  return told !== undefined && told !== 'not found' && told.isFinal && told.status !== 'success';
}

/** Whether each check was a 404 for so long that the payment counts as gone, whatever the delays were. */
function isGone(last: Get, evidence: GetEvidence): boolean {
  const before = evidence.gets.filter((get) => get.at <= last.at);
  const since = before.slice(before.findLastIndex(({ told }) => told !== 'not found') + 1);
  const first = since.find((get) => findRecord(get, evidence));
  return last.told === 'not found' && first !== undefined && last.endedAt - first.endedAt > GONE_AFTER;
}

/** A 404 counts once it has lasted for 10 s, and the rest is for a busy machine, in milliseconds. */
const GONE_AFTER = 13_000;
