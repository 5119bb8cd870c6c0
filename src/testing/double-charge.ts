import { type ChargeEntry, type Entry, isCharge } from './ledger.ts';

/** A load test can make thousands of pairs. A message that names all of them is useless. */
const MAX_NAMED_PAIRS = 20;

/** Two charges of one customer, of the same amount on the same phone. */
export interface DoubleCharge {
  readonly first: string;
  readonly second: string;
  readonly amount: string;
  readonly currency: string;
  /** Milliseconds between the two. */
  readonly apart: number;
}

/**
 * Throws if the same customer was charged the same amount on the same phone twice within `within` milliseconds.
 *
 * @throws {RangeError} if `within` is negative or no number
 */
export function assertNoDoubleCharge(entries: readonly Entry[], within: number): void {
  if (!(typeof within === 'number' && within >= 0)) {
    throw new RangeError(`within must be milliseconds, 0 or more, not ${within}.`);
  }
  const found = findDoubleCharges(entries, within, MAX_NAMED_PAIRS + 1);
  if (found.length === 0) return;
  const named = found.map(
    ({ first, second, amount, currency, apart }) =>
      `${first} and ${second} (${amount} ${currency}, ${apart} ms apart)`,
  );
  if (named.length > MAX_NAMED_PAIRS) named[MAX_NAMED_PAIRS] = 'and more';
  throw new Error(`The same customer was charged twice on the same phone: ${named.join('; ')}.`);
}

/**
 * Finds at most `max` pairs of charges that are at most `within` milliseconds apart.
 *
 * A pair does not count if the first charge was `failed` before the second was made: charging again is then right. A
 * first charge that was `abandoned` counts, because it could still succeed (docs/reference/service.md, "Statuses").
 */
export function findDoubleCharges(entries: readonly Entry[], within: number, max: number): DoubleCharge[] {
  const found: DoubleCharge[] = [];
  for (const [first, second] of duplicatePairs(entries.filter(isCharge))) {
    const apart = Math.abs(second.createdAt - first.createdAt);
    if (apart > within || hadFailed(first, second)) continue;
    if (found.length === max) break;
    const { amount, currency } = second;
    found.push({ first: first.reference, second: second.reference, amount, currency, apart });
  }
  return found;
}

function* duplicatePairs(charges: readonly ChargeEntry[]): Generator<[first: Entry, second: Entry]> {
  for (const duplicates of Map.groupBy(charges, identify).values()) {
    for (const [index, second] of duplicates.entries()) {
      for (const first of duplicates.slice(0, index)) yield [first, second];
    }
  }
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
