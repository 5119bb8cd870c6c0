/** Compares what the processes of a run logged, and the journal, with the ledger of the service. */

import type { JournalEntry } from '../../../src/stores/index.ts';
import type { LoggedEvent } from './log.ts';
import { API_KEY, EMAIL, PHONE } from './plan.ts';
import { type Charge, readStatus } from './service.ts';

/** What is left of a run. */
export interface Evidence {
  readonly charges: readonly Charge[];
  readonly events: readonly LoggedEvent[];
  readonly entries: readonly JournalEntry[];
  /** What the record of an order or a key says. */
  readonly facts: ReadonlyMap<string, readonly string[]>;
}

type HandlerCall = Extract<LoggedEvent, { event: 'onFinal' | 'onPaid' }>;

/** What a run must have had, so that it shows anything. */
const occurrences = [
  ...['made', 'replayed', 'conflict', 'unknown', 'paid', 'processing', 'in_review'],
  ...['onFinal', 'onPaid', 'threw'],
];

export const findMissing = (counts: Readonly<Record<string, number>>) =>
  occurrences.filter((name) => !counts[name]);

/** Returns how often what happened. */
export function countEvents({ charges, events }: Evidence): Record<string, number> {
  const names = events.map((logged) => ('result' in logged ? logged.result : logged.event));
  const counts: Record<string, number> = {
    charges: charges.length,
    'charged twice': judgeKeys(charges).length,
  };
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Returns what is wrong. `dump`: all that the database holds of the journal. */
export function judge(evidence: Evidence, dump: string): string[] {
  const { charges, events } = evidence;
  const secrets = [API_KEY.slice('sk_test_'.length), PHONE, PHONE.replaceAll(' ', ''), EMAIL];
  return [
    ...events.flatMap((logged) => (logged.event === 'failed' ? `a call failed: ${logged.message}` : [])),
    ...judgeKeys(charges),
    ...judgeEntries(evidence),
    ...judgeCalls(evidence),
    ...judgeWrites(evidence),
    ...judgeHandlers(evidence),
    ...judgeOrders(charges),
    ...listUnsettled(evidence),
    ...secrets.flatMap((secret) => (dump.includes(secret) ? `${secret} is in a record` : [])),
  ];
}

const isKey = (name: string) => !name.startsWith('order-');

/** A key is charged once. */
function judgeKeys(charges: readonly Charge[]): string[] {
  const byKey = Map.groupBy(
    charges.filter(({ name }) => isKey(name)),
    ({ name }) => name,
  );
  return [...byKey].flatMap(([key, { length }]) => (length > 1 ? `${key} was charged ${length} times` : []));
}

/** Each record says what became of its requests, and each charge is named by one. */
function judgeEntries({ charges, entries }: Evidence): string[] {
  const known = new Set(entries.flatMap(({ requestIds }) => requestIds));
  const unnamed = charges.filter(({ requestId }) => !known.has(requestId));
  const wrong = entries.flatMap(({ key, state, reference, requestIds }) => {
    const own = charges.filter(({ requestId }) => requestIds.includes(requestId));
    const [charge] = own;
    if (own.length > 1) return [`the attempts of ${key} made ${own.length} charges`];
    const isProof = state === 'rejected' || state === 'not_sent';
    if (isProof && charge) return [`${key} is ${state}, and ${charge.reference} exists`];
    if (state !== 'completed' || charge?.reference === reference) return [];
    return [`${key} has ${reference}, the service ${charge?.reference}`];
  });
  return [...unnamed.map(({ name, reference }) => `no record names ${reference} of ${name}`), ...wrong];
}

/** Each call returned what is true, and is still recorded. */
function judgeCalls({ charges, entries, events }: Evidence): string[] {
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
  const lost = events.flatMap((logged) =>
    logged.event === 'written'
      ? logged.facts
          .filter((fact) => !facts.get(logged.key)?.includes(fact))
          .map((fact) => `${logged.key}: the journal confirmed "${fact}", and has lost it`)
      : [],
  );
  return [...new Set(lost)];
}

const listHandled = ({ events }: Evidence) =>
  events.filter((logged): logged is HandlerCall => logged.event === 'onFinal' || logged.event === 'onPaid');

/** Each handler hears what the service has said by then, and of one payment of an order. */
function judgeHandlers(evidence: Evidence): string[] {
  const handled = listHandled(evidence);
  const untrue = handled.filter(({ reference, what, at }) => {
    const charge = evidence.charges.find((made) => made.reference === reference);
    return !charge || readStatus(charge, at) !== what;
  });
  const paid = handled.filter(({ event }) => event === 'onPaid');
  const second = paid.filter(({ name, key }) => paid.find((first) => first.name === name)?.key !== key);
  return [
    ...untrue.map(({ key, what }) => `${key}: a handler got ${what}, which the service never said`),
    ...second.map(({ name, key }) => `${name} was paid by ${key} too`),
  ];
}

/** No payment of an order begins unless all before it have failed. */
function judgeOrders(charges: readonly Charge[]): string[] {
  return charges.flatMap((later, index) =>
    charges
      .slice(0, isKey(later.name) ? 0 : index)
      .filter((earlier) => earlier.name === later.name && readStatus(earlier, later.at) !== 'failed')
      .map((earlier) => `${later.name}: ${later.reference} began while ${earlier.reference} could be paid`),
  );
}

/** Lists what is not at its end: a call that no process has, and a payment whose end nobody has heard of. */
export function listUnsettled(evidence: Evidence): string[] {
  const heard = new Set(listHandled(evidence).map(({ key }) => key));
  return evidence.entries.flatMap(({ key, order, state, reference }) => {
    if (state === 'begun') return [`${key} is in progress, and no process has it`];
    const charge = evidence.charges.find((made) => made.reference === reference);
    const isOwed = state === 'completed' && (order === undefined || charge?.end === 'success');
    return isOwed && !heard.has(key) ? [`${key}: nobody was told what became of ${reference}`] : [];
  });
}
