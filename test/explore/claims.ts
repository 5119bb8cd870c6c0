/** Which order holds a reference: a claim is a record of its own, that names the order. */

import type { LedgerRecord } from './rules.ts';
import * as rules from './rules.ts';
import type { World } from './world.ts';

/** Claims a reference: inserts the claim if there is none, and writes it anew if it is one's own. */
export function claimReference(world: World, ref: string, owner: number): boolean {
  const claim = world.claims[ref];
  if (claim && claim.owner !== owner) return false;
  world.claims[ref] = { owner, version: claim ? (claim.version + 1) % 4 : 0 };
  return true;
}

/** Takes the claim over if it is void. */
export function takeVoid(world: World, ref: string, owner: number): boolean {
  const claim = world.claims[ref];
  if (!claim || claim.owner === owner || isHeldByOther(world, ref, owner)) return false;
  world.claims[ref] = { owner, version: (claim.version + 1) % 4 };
  return true;
}

/** Whether another order holds the claim of a reference, and it is not void. */
export function isHeldByOther({ claims, records }: World, ref: string, order: number): boolean {
  const claim = claims[ref];
  return (
    claim !== undefined && claim.owner !== order && !rules.isClaimVoid(records[claim.owner] ?? null, ref)
  );
}

/** Whether the service knows the transaction that was named, and nobody else holds it. */
export function isConfirmed(
  world: World,
  record: LedgerRecord | null,
  order: number,
  number: number,
): boolean {
  const payment = record?.payments[number - 1];
  const reference = payment && rules.referenceOf(payment);
  if (!record || reference === undefined || !world.charges.some(({ ref }) => ref === reference)) return false;
  const isElsewhere = record.payments.some(
    (item) => item !== payment && rules.ownsReference(item, reference),
  );
  return !isElsewhere && !isHeldByOther(world, reference, order);
}
