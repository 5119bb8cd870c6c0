/** Which order holds a reference: a claim is a record of its own, that names the order. */

import type { LedgerRecord } from './rules.ts';
import * as rules from './rules.ts';
import type { Claim, Config, World } from './world.ts';

/** Claims a reference: inserts the claim if there is none, and writes it anew if it is one's own. */
export function claimReference(
  world: World,
  config: Config,
  ref: string,
  owner: string,
  order: number,
): boolean {
  const { shellFaults } = config;
  if (shellFaults.has('reference_looked_up'))
    return !world.records.some(
      (record, index) => record && index !== order && rules.namesReference(record, ref),
    );
  const claim = world.claims[ref];
  if (claim && claim.owner !== owner) return false;
  const version = claim
    ? shellFaults.has('claim_not_rewritten')
      ? claim.version
      : (claim.version + 1) % 4
    : 0;
  world.claims[ref] = { owner, version };
  return true;
}

/** The name in a claim: of the order, and never of a payment. */
export const nameOwner = (config: Config, order: number, number: number | string) =>
  config.shellFaults.has('claim_per_payment') ? `${order}/${number}` : String(order);
export const orderOf = (claim: Claim) => Number(claim.owner.split('/')[0]);

/** Whether another order holds the claim of a reference, and it is not void. */
export function isHeldByOther(world: World, config: Config, ref: string, order: number): boolean {
  const claim = world.claims[ref];
  if (!claim || orderOf(claim) === order) return false;
  return (
    config.shellFaults.has('no_takeover') || !rules.isClaimVoid(world.records[orderOf(claim)] ?? null, ref)
  );
}

/** Whether the service knows the transaction that was named, and nobody else holds it. */
export function isConfirmed(
  world: World,
  config: Config,
  record: LedgerRecord | null,
  order: number,
  number: number,
): boolean {
  const payment = record?.payments[number - 1];
  const reference = payment && rules.referenceOf(payment);
  if (!record || reference === undefined || !world.charges.some(({ ref }) => ref === reference)) return false;
  if (isHeldByOther(world, config, reference, order)) return config.shellFaults.has('shared_is_charged');
  const isElsewhere = record.payments.some(
    (item) => item !== payment && rules.ownsReference(item, reference),
  );
  return !isElsewhere || config.shellFaults.has('shared_is_charged');
}
