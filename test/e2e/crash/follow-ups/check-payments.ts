import type { JournalEntry } from '../../../../src/journal/index.ts';
import { seenOf } from '../../../../src/ledger/payment.ts';
import type { Payment } from '../../../../src/ledger/record.ts';
import { createOrder } from '../orders.ts';
import type { Charge } from '../service.ts';
import { checkGets, type GetFindings } from './check-gets.ts';
import type { SweeperSettings } from './settings.ts';
import type { LoggedEvent } from './sweep-log.ts';
import type { Get, VerifyService } from './verify-service.ts';

/** What is left of a run: the service's ledger, what the sweepers logged, and the journal. */
export interface Evidence {
  readonly keys: number;
  readonly entries: ReadonlyMap<string, JournalEntry>;
  /** The payment of each key, as it is recorded. */
  readonly payments: ReadonlyMap<string, Payment>;
  chargesFor(key: string): readonly Charge[];
  readonly service: VerifyService;
  readonly events: readonly LoggedEvent[];
  readonly polling: SweeperSettings['polling'];
  readonly timeout: number;
  readonly killed: ReadonlySet<number>;
  readonly stoppedAt: number;
}

/** The counts of a run with follow-ups. */
export interface FollowUpCounts {
  /** Payments that were charged and recorded so. */
  payments: number;
  /** Of them: `onFinal` was called, and that is recorded. */
  delivered: number;
  overdue: number;
  mismatch: number;
  gone: number;
  /** Keys that a person must resolve. */
  unresolved: number;
  /** Keys that were reported as unresolved before the process that charged woke up, and recorded the outcome. */
  woken: number;
  gets: number;
  /** Requests that the journal does not count. */
  extra: number;
  extraByKill: number;
  /** Of them: neither a kill nor a notification explains them. */
  unexplained: number;
  /** Requests that came too soon after another one, and that no notification asked for. */
  early: number;
  /** Calls of a handler after its first for the same payment and reason. */
  onFinalRepeated: number;
  onAttentionRepeated: number;
  /** Of both: how many came after a call that had neither thrown nor been killed. */
  repeatedWithoutCause: number;
}

/** What is known of one payment. */
interface PaymentEvidence extends Evidence {
  readonly key: string;
  readonly ownEvents: readonly LoggedEvent[];
  readonly ownGets: readonly Get[];
}

/** Compares the journal and what the handlers got with the service's ledger. `violations` must be empty. */
export function checkPayments(evidence: Evidence): FollowUpCounts & { violations: readonly string[] } {
  const counts: FollowUpCounts = {
    payments: 0,
    delivered: 0,
    overdue: 0,
    mismatch: 0,
    gone: 0,
    unresolved: 0,
    woken: 0,
    gets: evidence.service.gets.length,
    extra: 0,
    extraByKill: 0,
    unexplained: 0,
    early: 0,
    onFinalRepeated: 0,
    onAttentionRepeated: 0,
    repeatedWithoutCause: 0,
  };
  const violations = [...evidence.entries.keys()].flatMap((key) =>
    evidence.payments.has(key) ? [] : [`${key} is a payment that no call asked for`],
  );
  const eventsByKey = groupByKey(evidence.events);
  const getsByReference = Map.groupBy(evidence.service.gets, ({ reference }) => reference);
  for (let index = 0; index < evidence.keys; index++) {
    const { key } = createOrder(index);
    const entry = evidence.entries.get(key);
    const ownGets = evidence.chargesFor(key).flatMap(({ reference }) => getsByReference.get(reference) ?? []);
    const payment = { ...evidence, key, ownEvents: eventsByKey.get(key) ?? [], ownGets };
    const found = entry ? checkEntry(entry, payment, counts) : ['the journal has no record'];
    violations.push(...found.map((finding) => `${key}: ${finding}`));
    if (entry && found.length > 0) violations.push(formatTimeline(entry, payment));
  }
  return { ...counts, violations };
}

function groupByKey(events: readonly LoggedEvent[]): Map<string, LoggedEvent[]> {
  const groups = new Map<string, LoggedEvent[]>();
  for (const logged of events) {
    const keys = 'keys' in logged ? logged.keys : 'key' in logged ? [logged.key] : [];
    for (const key of keys) {
      const group = groups.get(key);
      if (group) group.push(logged);
      else groups.set(key, [logged]);
    }
  }
  return groups;
}

function checkEntry(entry: JournalEntry, payment: PaymentEvidence, counts: FollowUpCounts): string[] {
  const ownEvents = payment.ownEvents.filter(({ at }) => at >= entry.createdAt);
  // The process of an earlier charge was reported as gone, woke up, and recorded that there is no charge.
  if (listCalls(payment.ownEvents, 'onAttention').some(({ at }) => at < entry.createdAt)) counts.woken++;
  return checkCharge(entry, { ...payment, ownEvents }, counts);
}

/** Checks what happened since the latest charge under the key. */
function checkCharge(entry: JournalEntry, payment: PaymentEvidence, counts: FollowUpCounts): string[] {
  const { ownEvents, ownGets } = payment;
  const found = [
    ...checkHandlerCalls(payment, 'onFinal', 'end', counts),
    ...checkHandlerCalls(payment, 'onAttention', 'attention', counts),
  ];
  if (entry.state === 'completed') return [...found, ...checkCompleted(entry, payment, counts)];
  if (ownGets.length > 0) found.push(`${entry.state}, and the service got ${ownGets.length} requests`);
  if (listCalls(ownEvents, 'onFinal').length > 0) found.push(`${entry.state}, and onFinal was called`);
  const reasons = listCalls(ownEvents, 'onAttention').map(({ reason }) => reason);
  if (entry.state === 'unknown') {
    counts.unresolved++;
    if (!reasons.includes('unresolved')) found.push('unresolved, and onAttention was not called');
    if (!payment.payments.get(entry.key)?.told.attention.includes('unresolved'))
      found.push('unresolved, and not recorded as reported');
  } else if (reasons.length > 0) counts.woken++;
  if (reasons.some((reason) => reason !== 'unresolved'))
    found.push(`${entry.state}, and reported as ${reasons}`);
  return found;
}

function checkCompleted(entry: JournalEntry, payment: PaymentEvidence, counts: FollowUpCounts): string[] {
  const { key, ownGets, ownEvents } = payment;
  const recorded = payment.payments.get(key);
  const { final, attention = [] } = recorded?.told ?? {};
  const isDelivered = final !== undefined;
  const [charge] = payment.chargesFor(key);
  if (charge?.reference !== entry.reference)
    return [`${entry.reference} is recorded, the service has ${charge?.reference}`];
  counts.payments++;
  if (isDelivered) counts.delivered++;
  for (const reason of ['overdue', 'mismatch', 'gone'] as const)
    if (attention.includes(reason)) counts[reason]++;

  const gets = checkGets({
    ...payment,
    createdAt: entry.createdAt,
    gets: ownGets,
    events: ownEvents,
  });
  addGets(counts, gets);
  const called = listCalls(ownEvents, 'onAttention').map(({ reason }) => reason);
  if (called.includes('unresolved')) counts.woken++;
  const isFinal = ownGets.some(({ told }) => isFinalReading(told));
  const found = [...gets.violations, ...checkReasons(entry, payment)];
  const isWrong = payment.service.lifeOf(charge?.reference ?? '')?.fate === 'wrong reference';
  // What cannot be read needs a person after a day, and is checked on until then.
  const isCheckedOn = isWrong && recorded?.pace !== undefined && seenOf(recorded)?.failing !== undefined;
  if (!isDelivered && !isCheckedOn && attention.every((reason) => reason === 'unresolved'))
    found.push(`forgotten: it is neither delivered nor reported, at ${JSON.stringify(recorded)}`);
  if (isFinal && !isDelivered) found.push('the service said that it is final, and it is not delivered');
  if (isDelivered && listCalls(ownEvents, 'onFinal').length === 0)
    found.push('recorded as delivered, and onFinal was not called');
  return [...found, ...checkFinalCalls(entry, payment)];
}

function addGets(counts: FollowUpCounts, { extra, extraByKill, unexplained, early }: GetFindings): void {
  counts.extra += Math.max(0, extra);
  counts.extraByKill += Math.max(0, extraByKill);
  counts.unexplained += unexplained;
  counts.early += early;
}

const isFinalReading = (told: Get['told']) => told !== undefined && told !== 'not found' && told.isFinal;

/** Each call of `onFinal` must say what the service has said before. */
function checkFinalCalls(
  { reference }: JournalEntry,
  { ownEvents, ownGets, service }: PaymentEvidence,
): string[] {
  // Two sweepers can check at the same time, if one was notified. The handler might get what came back first.
  const [first] = ownGets
    .filter(({ told }) => isFinalReading(told))
    .sort((one, other) => one.endedAt - other.endedAt);
  const told = first?.told;
  const life = reference === undefined ? undefined : service.lifeOf(reference);
  return listCalls(ownEvents, 'onFinal').flatMap((call) => {
    if (!first || told === undefined || told === 'not found')
      return [`onFinal got ${call.status}, and the service never said so (${life?.fate})`];
    const differs = (['reference', 'status', 'amount', 'currency'] as const).filter(
      (field) => call[field] !== told[field],
    );
    return [
      ...(call.at < first.endedAt ? [`onFinal was called ${first.endedAt - call.at} ms too early`] : []),
      ...differs.map((field) => `onFinal got ${field} ${call[field]}, the service said ${told[field]}`),
    ];
  });
}

/** How long every check must have been a 404 before a payment is reported as gone, in milliseconds. */
const NOT_FOUND_GRACE = 10_000;

/** Each reason that was reported must be so. */
function checkReasons(
  entry: JournalEntry,
  { key, ownEvents, ownGets, polling, chargesFor }: PaymentEvidence,
): string[] {
  const isMisquoted = chargesFor(key).some((charge) => charge.isMisquoted);
  return listCalls(ownEvents, 'onAttention').flatMap(({ reason, reference, at }) => {
    const before = ownGets.filter((get) => get.endedAt <= at);
    const notFound = before.filter(({ told }) => told === 'not found');
    const isKnown = reason !== 'unresolved' || reference !== undefined;
    const found = !isKnown || reference === entry.reference ? [] : [`${reason} was reported of ${reference}`];
    const isTrue = {
      overdue: () => at >= entry.createdAt + polling.timeout,
      mismatch: () =>
        isMisquoted || before.some(({ told }) => told && told !== 'not found' && told.isMismatch),
      gone: () => at - (notFound[0]?.endedAt ?? at) >= NOT_FOUND_GRACE,
      unresolved: () => true,
    }[reason];
    if (!isTrue?.()) found.push(`reported as ${reason}, and it is not`);
    return found;
  });
}

type HandlerCall<Event extends 'onFinal' | 'onAttention'> = Extract<LoggedEvent, { event: Event }>;

function listCalls<Event extends 'onFinal' | 'onAttention'>(
  events: readonly LoggedEvent[],
  name: Event,
): HandlerCall<Event>[] {
  return events.filter((logged): logged is HandlerCall<Event> => logged.event === name);
}

/**
 * A handler is called again only after a call that threw, or whose process was killed before it had recorded that the call
 * succeeded.
 */
function checkHandlerCalls(
  { ownEvents, killed }: PaymentEvidence,
  handler: 'onFinal' | 'onAttention',
  step: 'end' | 'attention',
  counts: FollowUpCounts,
): string[] {
  const calls = listCalls(ownEvents, handler);
  const byReason = Map.groupBy(calls, (call) => ('reason' in call ? call.reason : 'final'));
  const found: string[] = [];
  for (const [reason, group] of byReason) {
    const repeated = group.length - 1;
    counts[handler === 'onFinal' ? 'onFinalRepeated' : 'onAttentionRepeated'] += repeated;
    const withoutCause = group.slice(0, -1).filter((call, index) => {
      const next = group[index + 1];
      const after = ownEvents.filter(
        ({ generation, at }) =>
          generation === call.generation && at >= call.at && at <= (next?.at ?? Number.POSITIVE_INFINITY),
      );
      if (after.some((logged) => logged.event === 'threw' && logged.handler === handler)) return false;
      const isRecorded = after.some((logged) => logged.event === 'recorded' && logged.step === step);
      return isRecorded || !killed.has(call.generation);
    });
    const last = group.at(-1);
    if (last && !killed.has(last.generation) && !isFollowedBy(last, ownEvents, [step, 'failure']))
      found.push(`${handler} (${reason}) was called, and that is not recorded`);
    counts.repeatedWithoutCause += withoutCause.length;
    if (withoutCause.length > 0)
      found.push(
        `${handler} (${reason}) was called ${group.length} times, ${withoutCause.length} without a cause`,
      );
  }
  return found;
}

/** `order-6, stuck: 305 GET 500 by 3; 309 recorded check by 3; …`, in milliseconds since the charge. */
function formatTimeline(entry: JournalEntry, { key, ownEvents, ownGets, service }: PaymentEvidence): string {
  const lines = [
    ...ownGets.map(({ at, kind, generation }) => ({ at, text: `GET ${kind} by ${generation}` })),
    ...ownEvents.map((logged) => {
      const { at, event, generation } = logged;
      const detail = 'step' in logged ? ` ${logged.step}` : 'reason' in logged ? ` ${logged.reason}` : '';
      return { at, text: `${event}${detail} by ${generation}` };
    }),
  ];
  const life = entry.reference === undefined ? undefined : service.lifeOf(entry.reference);
  const steps = lines
    .sort((one, other) => one.at - other.at)
    .map(({ at, text }) => `${at - entry.createdAt} ${text}`);
  return `  ${key}, ${life?.fate ?? entry.state}: ${steps.join('; ')}`;
}

/** Whether the process that made a call has recorded one of these steps since. */
function isFollowedBy(call: LoggedEvent, events: readonly LoggedEvent[], steps: readonly string[]): boolean {
  return events.some(
    (logged) =>
      logged.event === 'recorded' &&
      steps.includes(logged.step) &&
      logged.generation === call.generation &&
      logged.at >= call.at,
  );
}
