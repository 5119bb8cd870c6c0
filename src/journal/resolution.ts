import { referenceSchema } from '../contract/reference.ts';
import { initializedPaymentSchema } from '../contract/transaction.ts';
import { ConfigurationError } from '../errors.ts';
import { shownReference } from '../redact.ts';
import { JournalError } from './journal-error.ts';
import type { JournalRecord } from './record.ts';

/**
 * What somebody found out about a charge whose outcome was unknown: its `reference`, or that there is none. A payment
 * of `initialize` needs its `checkout_url` too.
 */
export type Resolution = { reference: string; checkout_url?: string | undefined } | 'not_charged';

/** The record once it is settled, or `null` where it says so already. */
export function applyResolution(record: JournalRecord, resolution: Resolution): JournalRecord | null {
  const { format, operation, service, fingerprint, amount, currency } = record;
  const known = { format, operation, service, fingerprint, amount, currency };
  if (resolution === 'not_charged') {
    if (record.state === 'completed') {
      throw new JournalError(
        `The journal holds the answer to this charge: ${shownReference(record.result.reference)}. It is not "not charged".`,
      );
    }
    return record.state === 'not_charged' ? null : { ...known, state: 'not_charged' };
  }

  const { reference, checkout_url } = validateResolution(resolution);
  if (record.state === 'completed') {
    if (record.result.reference === reference) return null;
    throw new JournalError(
      `The journal holds the answer to this charge: ${shownReference(record.result.reference)}.`,
    );
  }
  const result = { reference, amount, currency };
  if (operation === 'chargeMobileMoney')
    return { ...known, state: 'completed', result: { ...result, status: 'processing', message: '' } };
  if (checkout_url !== undefined)
    return { ...known, state: 'completed', result: { ...result, checkout_url } };
  throw new ConfigurationError(
    'This key started a payment by checkout page: give its checkout_url too, or settle it as "not_charged", since no ' +
      'customer was sent to it.',
  );
}

function validateResolution(resolution: Exclude<Resolution, 'not_charged'>) {
  const { reference, checkout_url } = Object(resolution);
  if (!referenceSchema.safeParse(reference).success) {
    throw new ConfigurationError(
      'Settle a key with { reference }, the TXN-… of the charge that you found, or with "not_charged".',
    );
  }
  const address = initializedPaymentSchema.shape.checkout_url;
  if (checkout_url !== undefined && !address.safeParse(checkout_url).success)
    throw new ConfigurationError("checkout_url must be the web address of the payment's checkout page.");
  return { reference, checkout_url };
}
