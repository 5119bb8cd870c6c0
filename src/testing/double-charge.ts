import type { Entry } from './ledger.ts';

/** A message that names every one of a load test's charges would be of no use. */
const MOST_NAMED = 20;

/**
 * Throws where the same customer, amount and phone were charged twice within so many milliseconds.
 *
 * A charge that had `failed` before the next was made does not count: to charge again is then right. One that was
 * `abandoned` does: SPEC.md does not say that it cannot still succeed.
 */
export function assertNoDoubleCharge(entries: readonly Entry[], within: number): void {
  if (!(typeof within === 'number' && within >= 0)) {
    throw new RangeError(`within must be milliseconds, 0 or more, not ${within}.`);
  }
  const charges = entries.filter(({ mobileMoney }) => mobileMoney);
  const named: string[] = [];
  for (const [first, second] of duplicatePairs(charges)) {
    const apart = Math.abs(second.createdAt - first.createdAt);
    if (apart > within || hadFailed(first, second)) continue;
    if (named.length === MOST_NAMED) {
      named.push('and more');
      break;
    }
    const { amount, currency } = second;
    named.push(`${first.reference} and ${second.reference} (${amount} ${currency}, ${apart} ms apart)`);
  }
  if (named.length === 0) return;
  throw new Error(`The same customer was charged twice on the same phone: ${named.join('; ')}.`);
}

function* duplicatePairs(charges: readonly Entry[]): Generator<[first: Entry, second: Entry]> {
  for (const alike of Map.groupBy(charges, identity).values()) {
    for (const [index, second] of alike.entries()) {
      for (const first of alike.slice(0, index)) yield [first, second];
    }
  }
}

/** Whether the first charge had failed when the second was made. Where an earlier run made both, only the clock tells. */
function hadFailed(first: Entry, second: Entry): boolean {
  if (first.status !== 'failed') return false;
  if (second.createdSeq === 0) return first.changedSeq === 0 && first.changedAt < second.createdAt;
  return first.changedSeq < second.createdSeq && first.changedAt <= second.createdAt;
}

function identity({ mobileMoney, customer_email, amount, currency }: Entry): string {
  const phone = normalizePhone(mobileMoney?.phone ?? '');
  return JSON.stringify([customer_email.toLowerCase(), amount, currency, phone]);
}

/** A number may be written in several ways, `024 412 3456` or `+233244123456`: its last nine digits tell it. */
function normalizePhone(phone: string): string {
  return (phone.match(/\p{Nd}/gu) ?? []).slice(-9).join('');
}
