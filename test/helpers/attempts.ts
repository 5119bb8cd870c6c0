import type { ChargeIntent, Claim, Journal } from '../../src/journal/index.ts';

/** What a journal is told of a charge. */
export const attempt: ChargeIntent = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
};

/** Begins a key of which nobody else may have the claim. */
export async function begunClaim(journal: Journal, key: string): Promise<Claim> {
  const standing = await journal.claim(key, attempt);
  if (standing.state !== 'claimed') throw new Error(`${key} is ${standing.state}`);
  return standing.claim;
}
