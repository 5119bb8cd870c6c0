import type { ChargeIntent, Claim, Journal } from '../../src/journal/index.ts';

/** The charge of these claims. */
export const chargeIntent: ChargeIntent = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
};

/** Claims a key that must be free. */
export async function claimKey(journal: Journal, key: string): Promise<Claim> {
  const result = await journal.claim(key, chargeIntent);
  if (result.state !== 'claimed') throw new Error(`${key} is ${result.state}`);
  return result.claim;
}
