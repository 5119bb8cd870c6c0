/** Compares what the processes of a run logged, and the journal, with the ledger of the service. */

import type { JournalEntry } from '../../../src/stores/index.ts';
import type { LoggedEvent } from './log.ts';
import { API_KEY, DEADLINE, EMAIL, PHONE, type Settings } from './plan.ts';
import { type Charge, readStatus } from './service.ts';

/** What is left of a run. */
export interface Evidence {
  readonly charges: readonly Charge[];
  readonly events: readonly LoggedEvent[];
  /** The processes that were killed. */
  readonly killed: ReadonlySet<number>;
  readonly entries: readonly JournalEntry[];
  /** What the record of an order or a key says, and its attempts. */
  readonly facts: ReadonlyMap<
    string,
    { readonly facts: readonly string[]; readonly attempts: readonly string[] }
  >;
  readonly control?: Settings['control'];
}

type HandlerCall = Extract<LoggedEvent, { name: string; what: string }>;

/** What a run must have had, so that it shows anything. */
const occurrences = [
  ...['made', 'replayed', 'conflict', 'unknown', 'paid', 'processing', 'in_review', 'resolved', 'notified'],
  ...['onFinal', 'onPaid', 'onUnpaid', 'onAttention', 'threw', 'repeated'],
];

export const findMissing = (counts: Readonly<Record<string, number>>) =>
  occurrences.filter((name) => !counts[name]);

/** Returns how often what happened. */
export function countEvents(evidence: Evidence): Record<string, number> {
  const { charges, events } = evidence;
  const counts: Record<string, number> = {
    charges: charges.length,
    'charged twice': judgeKeys(evidence).length,
    repeated: listRepeated(evidence).length,
  };
  for (const { event, ...logged } of events) {
    const name = 'result' in logged ? logged.result : event;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Returns what is wrong. `dump`: all that the database holds of the journal. */
export function judge(evidence: Evidence, dump: string): string[] {
  const { charges, events } = evidence;
  const secrets = [API_KEY.slice('sk_test_'.length), PHONE, PHONE.replaceAll(' ', ''), EMAIL];
  const orders = new Set(charges.flatMap(({ name }) => (isKey(name) ? [] : name)));
  return [
    ...events.flatMap((logged) => (logged.event === 'failed' ? `a call failed: ${logged.message}` : [])),
    ...judgeKeys(evidence),
    ...judgeEntries(evidence),
    ...judgeCalls(evidence),
    ...judgeWrites(evidence),
    ...judgeHandlers(evidence),
    ...listRepeated(evidence).flatMap(({ found, hasCause }) => (hasCause ? [] : found)),
    ...[...orders].flatMap((order) => judgeOrder(evidence, order)),
    ...listUnsettled(evidence),
    ...secrets.flatMap((secret) => (dump.includes(secret) ? `${secret} is in a record` : [])),
  ];
}

const isKey = (name: string) => !name.startsWith('order-');

/** A key is charged once. */
export function judgeKeys({ charges }: Pick<Evidence, 'charges'>): string[] {
  const byKey = Map.groupBy(
    charges.filter(({ name }) => isKey(name)),
    ({ name }) => name,
  );
  return [...byKey].flatMap(([key, { length }]) => (length > 1 ? `${key} was charged ${length} times` : []));
}

/** Each record says what became of its requests, and each charge is named by one. */
export function judgeEntries({ charges, entries }: Pick<Evidence, 'charges' | 'entries'>): string[] {
  const known = new Set(entries.flatMap(({ requestIds }) => requestIds));
  const unnamed = charges.filter(({ requestId }) => !known.has(requestId));
  const wrong = entries.flatMap(({ key, state, reference, amount, requestIds }) => {
    const own = charges.filter(({ requestId }) => requestIds.includes(requestId));
    const [charge] = own;
    if (own.length > 1) return [`the attempts of ${key} made ${own.length} charges`];
    const isProof = state === 'rejected' || state === 'not_sent' || state === 'not_charged';
    if (isProof && charge) return [`${key} is ${state}, and ${charge.reference} exists`];
    const isRight = charge?.reference === reference && charge?.amount === amount;
    if (state !== 'completed' || isRight) return [];
    return [
      `${key} has ${reference} over ${amount}, the service ${charge?.reference} over ${charge?.amount}`,
    ];
  });
  return [...unnamed.map(({ name, reference }) => `no record names ${reference} of ${name}`), ...wrong];
}

/** Each call returned what is true, and is still recorded. */
export function judgeCalls({
  charges,
  entries,
  events,
}: Pick<Evidence, 'charges' | 'entries' | 'events'>): string[] {
  return events.flatMap((logged) => {
    if (logged.event !== 'called') return [];
    const { name, call, result, reference, at } = logged;
    if (result === 'made' || result === 'replayed') {
      const entry = entries.find(({ key }) => key === name);
      const isTrue = charges.some((charge) => charge.name === name && charge.reference === reference);
      const isRecorded = entry?.state === 'completed' && entry.reference === reference;
      return isTrue && isRecorded
        ? []
        : [`${name}: ${reference} was returned, and ${entry?.reference} is recorded`];
    }
    const isProof = ['rejected', 'not_sent', 'conflict', 'unpaid'].includes(result);
    const denied = charges.find((charge) => charge.call === call && readStatus(charge, at) === 'pending');
    return isProof && denied ? [`${name}: ${result} was returned, and ${denied.reference} exists`] : [];
  });
}

/** What the journal has confirmed is still there. */
function judgeWrites({ events, facts }: Evidence): string[] {
  const lost = events.flatMap((logged) => {
    if (logged.event !== 'written') return [];
    const record = facts.get(logged.key);
    // What was told of an attempt ends with it.
    const isOver = (fact: string) =>
      fact.includes(' told ') && !record?.attempts.some((attempt) => fact.includes(attempt));
    return logged.facts
      .filter((fact) => !record?.facts.includes(fact) && !(record && isOver(fact)))
      .map((fact) => `${logged.key}: the journal confirmed "${fact}", and has lost it`);
  });
  return [...new Set(lost)];
}

function listCalls({ events }: Pick<Evidence, 'events'>): HandlerCall[] {
  return events.filter((logged): logged is HandlerCall => 'name' in logged && 'what' in logged);
}

const findCharge = ({ charges, entries }: Evidence, key: string) => {
  const entry = entries.find((item) => item.key === key);
  return charges.find(({ reference }) => reference === entry?.reference);
};

/** Each handler hears what the service has said by then. */
function judgeHandlers(evidence: Evidence): string[] {
  return listCalls(evidence).flatMap(({ event, key, what, at, reference }) => {
    const charge = findCharge(evidence, key);
    const wasSaid = (...statuses: string[]) =>
      charge?.statuses.some(({ from, status }) => from <= at && statuses.includes(status)) && !charge.isWrong;
    const isTrue =
      event === 'onAttention'
        ? (what !== 'mismatch' || charge?.isWrong) &&
          (what !== 'overdue' || (charge !== undefined && at >= charge.at + DEADLINE - 2 * 2_500))
        : event === 'onUnpaid'
          ? wasSaid('failed', 'abandoned')
          : wasSaid(what) && charge?.reference === reference;
    return isTrue ? [] : [`${key}: ${event} got ${what} of ${reference}, which the service never said`];
  });
}

/**
 * A handler is called again only after a call that threw, or whose process was killed before the journal had confirmed that it was
 * called.
 */
function listRepeated(evidence: Evidence): { found: string; hasCause: boolean }[] {
  const { events, killed, entries } = evidence;
  const groups = Map.groupBy(listCalls(evidence), ({ event, key, what }) => `${key}: ${event} (${what})`);
  return [...groups].flatMap(([found, calls]) =>
    calls.slice(0, -1).map((call, index) => {
      const { generation, key, name, what, at } = call;
      const until = calls[index + 1]?.at ?? at;
      const own = events.filter(
        (item) => item.generation === generation && item.at >= at && item.at <= until,
      );
      const hasThrown = own.some((item) => item.event === 'threw' && item.key === key && item.what === what);
      const told = `told ${call.event === 'onPaid' ? 'paid' : getTold(call)}`;
      const number = key === name ? 1 : Number(key.slice(name.length + 1));
      const isRecorded = own.some(
        (item) =>
          item.event === 'written' &&
          item.key === name &&
          item.facts.some((fact) => fact.startsWith(`${number} `) && fact.endsWith(told)),
      );
      // A new attempt is told anew.
      const isNew = what === 'unresolved' && (entries.find((entry) => entry.key === key)?.attempts ?? 0) > 1;
      return {
        found: `${found} was called again at ${until - at} ms without a cause`,
        hasCause: hasThrown || isNew || (killed.has(generation) && !isRecorded),
      };
    }),
  );
}

const getTold = ({ event, what }: HandlerCall) =>
  event === 'onFinal' && what !== 'success' ? 'ended' : what;

/**
 * A press may rely on a check of the last second. The response to that check can have been on its way for the timeout of a
 * request before, and longer on a busy machine. In milliseconds.
 */
const FRESH_FOR = 6_000;

/** No payment begins while an earlier one could be paid, unless it was asked for, nor once the order is paid. One pays it. */
function judgeOrder(evidence: Evidence, order: string): string[] {
  const own = evidence.charges.filter(({ name }) => name === order);
  const paid = evidence.events.filter(
    (logged) =>
      (logged.event === 'onPaid' || (logged.event === 'called' && logged.result === 'paid')) &&
      logged.name === order,
  );
  const winners = new Set(paid.flatMap((logged) => ('key' in logged ? logged.key : [])));
  // The first time that anybody was told that the order is paid. A press that begins later sends nothing.
  const paidAt = paid[0]?.at ?? Number.POSITIVE_INFINITY;
  return [
    ...(winners.size > 1 ? [`${order} was paid by ${[...winners].join(' and ')}`] : []),
    ...[...winners]
      .filter((key) => {
        const charge = findCharge(evidence, key ?? '');
        return !charge || charge.isWrong || readStatus(charge, Number.POSITIVE_INFINITY) !== 'success';
      })
      .map((key) => `${order} was delivered for ${key}, which is not paid`),
    ...own
      .filter(({ pressedAt }) => pressedAt > paidAt)
      .map(({ reference }) => `${order}: ${reference} was begun by a press after the order was paid`),
    ...own.flatMap((charge, index) =>
      own
        .slice(0, index)
        .filter((earlier) => couldBePaid(evidence, earlier, charge))
        .map((earlier) => `${order}: ${charge.reference} began while ${earlier.reference} could be paid`),
    ),
  ];
}

/**
 * Whether a payment could still be paid, as far as the service had said, when the next one began. The request of the earlier one
 * can arrive after that of one that a customer wanted beside it.
 */
function couldBePaid({ entries }: Evidence, earlier: Charge, next: Charge): boolean {
  if (readStatus(earlier, next.pressedAt - FRESH_FOR) === 'success') return true;
  const findNumber = ({ requestId }: Charge) =>
    Number(entries.find(({ requestIds }) => requestIds.includes(requestId))?.key.split('/')[1]);
  const wasOnItsWay = earlier.startAnother && findNumber(next) < findNumber(earlier);
  return !next.startAnother && !wasOnItsWay && readStatus(earlier, next.at) === 'pending';
}

/** Lists what is not at its end: nobody has heard of a payment that is, or of what a person has to decide. */
export function listUnsettled(evidence: Evidence): string[] {
  const heard = Map.groupBy(listCalls(evidence), ({ key }) => key);
  const paid = evidence.events.flatMap((logged) =>
    logged.event === 'called' && logged.result === 'paid' ? logged.key : [],
  );
  return evidence.entries.flatMap((entry) => {
    const { key, order, state } = entry;
    const calls = (heard.get(key) ?? []).flatMap(({ event, what }) => [event, what]);
    const hasHeard = (names: readonly string[]) => names.some((name) => calls.includes(name));
    if (state === 'begun') return [`${key} is in progress, and no process has it`];
    if (state === 'unknown' && !(order === undefined && hasHeard(['unresolved'])))
      return [`${key} is unresolved, and nobody was told`];
    const charge = findCharge(evidence, key);
    const ends = charge && state === 'completed' ? listEnds(charge, order) : [];
    if (ends.length === 0 || paid.includes(key) || hasHeard(ends)) return [];
    return [`${key}: nobody was told what became of ${charge?.reference}`];
  });
}

/** Lists what a handler hears in the end of a charge: one of these. */
function listEnds({ isWrong, statuses }: Charge, order: string | undefined): string[] {
  if (isWrong) return ['mismatch'];
  if (statuses.length === 0) return ['overdue'];
  if (order === undefined) return statuses.map(({ status }) => status);
  // That an order is unpaid is owed only while it is. A late success is found at pauses that are longer than a run.
  return statuses[0]?.status === 'success' ? ['onPaid', 'paid_twice', 'price_changed'] : [];
}
