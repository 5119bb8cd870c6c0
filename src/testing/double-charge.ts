import type { Entry } from './ledger.ts';

/** Two charges that ask one customer for the same money twice. */
interface DoubleCharge {
  readonly first: Entry;
  readonly second: Entry;
}

/**
 * Throws where the same customer, amount and phone were charged twice within so many milliseconds.
 *
 * A charge that had `failed` before the next was made does not count: to charge again is then right. One that was
 * `abandoned` does: SPEC.md does not say that it cannot still succeed.
 */
export function refuseDoubleCharge(entries: readonly Entry[], within: number): void {
  const charges = entries.filter(({ mobileMoney }) => mobileMoney);
  const found = [...Map.groupBy(charges, identity).values()].flatMap((alike) =>
    alike.flatMap((second, index) =>
      alike
        .slice(0, index)
        .filter((first) => second.createdAt - first.createdAt <= within && asksTwice(first, second))
        .map((first): DoubleCharge => ({ first, second })),
    ),
  );
  if (found.length === 0) return;
  const list = found.map(({ first, second }) => {
    const apart = second.createdAt - first.createdAt;
    return `${first.reference} and ${second.reference} (${second.amount} ${second.currency}, ${apart} ms apart)`;
  });
  throw new Error(`The same customer was charged twice on the same phone: ${list.join('; ')}.`);
}

function asksTwice(first: Entry, second: Entry): boolean {
  return !(first.status === 'failed' && first.changedAt <= second.createdAt);
}

function identity({ mobileMoney, customer_email, amount, currency }: Entry): string {
  const phone = subscriber(mobileMoney?.phone ?? '');
  return JSON.stringify([customer_email.toLowerCase(), amount, currency, phone]);
}

/** A number may be written in several ways, `024 412 3456` or `+233244123456`: its last nine digits tell it. */
function subscriber(phone: string): string {
  return (phone.match(/\p{Nd}/gu) ?? []).slice(-9).join('');
}
