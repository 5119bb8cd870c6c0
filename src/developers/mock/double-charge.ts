import type { Journal } from '../../journal/journal.ts';
import { type ChargeEntry, type Entry, isCharge } from '../service/ledger.ts';
import type { Exchange } from '../service/service.ts';

/** A load test can make thousands of pairs. A message that names all of them is useless. */
const MAX_NAMED_PAIRS = 20;

export interface DoubleCharge {
  readonly first: string;
  readonly second: string;
  /** Of the second. */
  readonly amount: string;
  readonly currency: string;
  /** Milliseconds between the two. */
  readonly apart: number;
  /** The order that both belong to. Without it they have only the customer, the phone and the amount in common. */
  readonly order?: string;
}

/** Which charges count, and what is known of them. */
export interface DoubleChargeRules {
  /** Milliseconds. */
  readonly within: number;
  /** How many equal charges are purchases of their own. Default 1. */
  readonly purchases?: number;
  /** The order of each charge, by the charge's reference, as the journal knows it. `undefined` if no journal was given. */
  readonly orders?: ReadonlyMap<string, string> | undefined;
}

export function assertNoDoubleCharge(entries: readonly Entry[], rules: DoubleChargeRules): void {
  const { purchases = 1, orders } = rules;
  const found = findDoubleCharges(entries, rules, MAX_NAMED_PAIRS + 1);
  if (found.length === 0) return;
  const named = found.slice(0, MAX_NAMED_PAIRS);
  const tied = named.filter(({ order }) => order !== undefined);
  const untied = named.filter(({ order }) => order === undefined);
  const sentences: string[] = [];
  if (tied.length > 0) sentences.push(`The same order or key was charged twice: ${list(tied)}.`);
  if (untied.length > 0) {
    const times = purchases === 1 ? 'twice' : `more than ${purchases} times`;
    sentences.push(`The same customer was charged ${times} on the same phone: ${list(untied)}.`);
    const allow = `{ purchases: ${purchases + 1} }`;
    sentences.push(
      `${orders ? 'The journal does not have both' : 'No journal was given'}, so no order and no idempotency key ties them together.`,
      `If they are purchases of their own, pass ${orders ? '' : '{ journal } and await the check, or '}${allow}.`,
    );
  }
  if (found.length > MAX_NAMED_PAIRS) sentences.push('There are more.');
  throw new Error(sentences.join(' '));
}

const list = (pairs: readonly DoubleCharge[]) =>
  pairs
    .map(({ first, second, order, amount, currency, apart }) => {
      const of = order === undefined ? '' : ` of ${order}`;
      return `${first} and ${second}${of} (${amount} ${currency}, ${apart} ms apart)`;
    })
    .join('; ');

/**
 * Finds at most `max` pairs of charges that should be one: of one order, or of one customer, phone and amount unless they are
 * known to be of two orders.
 *
 * A pair does not count if the first charge was `failed` before the second was made: charging again is then right. A
 * first charge that was `abandoned` counts, because it could still succeed (docs/reference/service.md, "Statuses").
 */
export function findDoubleCharges(
  entries: readonly Entry[],
  rules: DoubleChargeRules,
  max: number,
): DoubleCharge[] {
  const found: DoubleCharge[] = [];
  for (const pair of findPairs(entries.filter(isCharge), rules)) {
    if (found.length === max) break;
    found.push(pair);
  }
  return found;
}

function* findPairs(
  charges: readonly ChargeEntry[],
  { within, purchases = 1, orders }: DoubleChargeRules,
): Generator<DoubleCharge> {
  const orderOf = ({ reference }: Entry) => orders?.get(reference);
  const counts = (first: Entry, second: Entry) =>
    measureGap(first, second) <= within && !hadFailed(first, second);
  for (const [order, tied] of Map.groupBy(charges, orderOf)) {
    if (order !== undefined) yield* pairWithEarlier(tied, counts, { order });
  }
  // Of one order they were paired above, and of two orders they are two purchases.
  const countsUntied = (first: Entry, second: Entry) =>
    (orderOf(first) === undefined || orderOf(second) === undefined) && counts(first, second);
  for (const equal of Map.groupBy(charges, identify).values())
    yield* pairWithEarlier(equal, countsUntied, { purchases });
}

/** Pairs each charge with those before it that count, if they are as many as there are purchases. */
function* pairWithEarlier(
  charges: readonly ChargeEntry[],
  counts: (first: Entry, second: Entry) => boolean,
  { purchases = 1, order }: { purchases?: number; order?: string },
): Generator<DoubleCharge> {
  for (const [index, second] of charges.entries()) {
    const earlier = charges.slice(0, index).filter((first) => counts(first, second));
    if (earlier.length < purchases) continue;
    const { amount, currency } = second;
    for (const first of earlier) {
      const apart = measureGap(first, second);
      const pair = { first: first.reference, second: second.reference, amount, currency, apart };
      yield order === undefined ? pair : { ...pair, order };
    }
  }
}

const measureGap = (first: Entry, second: Entry) => Math.abs(second.createdAt - first.createdAt);

/**
 * Finds the order of each charge by the `X-Request-Id` of its request, which a journal records before the request is sent.
 * Not by the reference: a mock that starts again begins with the references that an older journal has.
 *
 * A payment is named `17/2`, and so are idempotency keys, by the rule of docs/guides/prevent-double-charges.md.
 */
export async function readOrders(
  journal: Journal,
  exchanges: readonly Exchange[],
): Promise<ReadonlyMap<string, string>> {
  const byRequestId = new Map<string, string>();
  const shared = new Set<string>();
  for await (const { key, requestIds } of journal.list()) {
    const order = key.replace(/\/\d+$/, '');
    for (const id of requestIds) {
      // A caller can send one id with every request: it then shows nothing.
      if ((byRequestId.get(id) ?? order) !== order) shared.add(id);
      byRequestId.set(id, order);
    }
  }
  const orders = new Map<string, string>();
  for (const { reference, request } of exchanges) {
    const id = request.headers['x-request-id'] ?? '';
    const order = shared.has(id) ? undefined : byRequestId.get(id);
    if (request.operation !== 'chargeMobileMoney' || reference === null || order === undefined) continue;
    orders.set(reference, order);
  }
  return orders;
}

function identify({ mode, mobileMoney, customer_email, amount, currency }: ChargeEntry): string {
  const phone = normalizePhone(mobileMoney.phone);
  return JSON.stringify([mode, customer_email.toLowerCase(), amount, currency, phone]);
}

/** Returns the last nine digits, which `024 412 3456` and `+233244123456` share. */
function normalizePhone(phone: string): string {
  return (phone.match(/\p{Nd}/gu) ?? []).slice(-9).join('');
}

/** Whether the first charge had failed when the second was made. For two charges of an earlier run only the clock can tell. */
function hadFailed(first: Entry, second: Entry): boolean {
  if (first.status !== 'failed') return false;
  if (second.createdSeq === 0) return first.changedSeq === 0 && first.changedAt < second.createdAt;
  return first.changedSeq < second.createdSeq && first.changedAt <= second.createdAt;
}
