import { referenceSchema } from '../api/input.ts';
import { initializedPaymentSchema } from '../api/transaction.ts';
import { ConfigurationError, JournalError } from '../errors.ts';
import { redactReference, redactUnknownSecrets } from '../redact.ts';
import { isObject, stringField } from '../untrusted.ts';
import type { JournalRecord } from './record.ts';

/**
 * What a person found out about a charge whose outcome was unknown: its `reference`, or that it does not exist. A payment
 * of `initialize` needs its `checkout_url` too.
 */
export type Resolution = { reference: string; checkout_url?: string | undefined } | 'not_charged';

/** Who resolved a key, and why. Both are kept for ever, with the time. */
export interface ResolutionNote {
  /** The person, 1 to 200 characters. It is stored as it is, without API keys. @example 'kofi@shop.example' */
  by: string;
  /** What they found, 1 to 1,000 characters. It is stored without phone numbers, emails and keys. */
  reason: string;
  /**
   * How many `resolutions` the entry had when the person decided. If another person has resolved the key since, the
   * resolution is refused. Give it in a page that shows an entry and resolves it later.
   *
   * @default as many as there are when the call begins
   */
  resolutionsSeen?: number | undefined;
}

/** A resolution whose fields were checked, as it is applied. */
export interface ValidResolution {
  readonly resolution: Resolution;
  readonly by: string;
  readonly reason: string;
  readonly resolutionsSeen: number | undefined;
}

/** @throws {ConfigurationError} if the resolution or its note is not valid. */
export function validateResolution(resolution: Resolution, note: ResolutionNote): ValidResolution {
  return {
    resolution: resolution === 'not_charged' ? resolution : validateFound(resolution),
    by: redactKeys(validateText(note, 'by', 200)),
    reason: redactUnknownSecrets(validateText(note, 'reason', 1_000)),
    resolutionsSeen: validateSeen(note.resolutionsSeen),
  };
}

function validateFound(resolution: Exclude<Resolution, 'not_charged'>) {
  const { reference, checkout_url } = Object(resolution);
  if (!referenceSchema.safeParse(reference).success) {
    throw new ConfigurationError(
      'Resolve a key with { reference }, the TXN-… of the charge that you found, or with "not_charged".',
    );
  }
  const address = initializedPaymentSchema.shape.checkout_url;
  if (checkout_url !== undefined && !address.safeParse(checkout_url).success)
    throw new ConfigurationError("checkout_url must be the web address of the payment's checkout page.");
  return { reference, checkout_url };
}

function validateText(note: ResolutionNote, name: 'by' | 'reason', maxLength: number): string {
  const text = isObject(note) ? stringField(note, name)?.trim() : undefined;
  if (text && text.length <= maxLength && !/\p{Cc}|\p{Cs}/u.test(text)) return text;
  const meaning = name === 'by' ? 'who resolves the key' : 'what was found out';
  throw new ConfigurationError(
    `A resolution needs { by, reason }. ${name} must be text of 1 to ${maxLength} characters in one line: ${meaning}.`,
  );
}

function validateSeen(seen: number | undefined): number | undefined {
  if (seen === undefined || (Number.isInteger(seen) && seen >= 0)) return seen;
  throw new ConfigurationError(
    'resolutionsSeen must be the number of resolutions of the entry that was shown.',
  );
}

/** A person is often named by an email address, which stays. */
const redactKeys = (text: string) => text.replace(/sk_(?:test|live)_[\w-]+/gi, '[REDACTED]');

/**
 * Returns the record once it is resolved, or `null` if it holds that already. What the service itself returned cannot be
 * overruled. What a person resolved can be resolved again.
 *
 * @throws {JournalError} if the record contradicts the resolution.
 * @throws {ConfigurationError} if the resolution needs a `checkout_url`.
 */
export function applyResolution(
  record: JournalRecord,
  { resolution, by, reason }: ValidResolution,
): JournalRecord | null {
  const isFromService = record.state === 'completed' && record.resolved !== true;
  const recorded = record.state === 'completed' ? record.result.reference : undefined;
  const history = (found: 'not_charged' | { reference: string }) => [
    ...record.resolutions,
    { at: Date.now(), by, reason, resolution: found },
  ];
  if (resolution === 'not_charged') {
    if (isFromService) throw contradictionError(recorded, ' It is not "not charged".');
    if (record.state === 'not_charged') return null;
    return { ...pickBase(record), resolutions: history('not_charged'), state: 'not_charged' };
  }

  const { reference, checkout_url } = resolution;
  if (recorded === reference) return null;
  if (isFromService) throw contradictionError(recorded);
  const { operation, amount, currency } = record;
  if (operation === 'initialize' && checkout_url === undefined) {
    throw new ConfigurationError(
      'This key started a payment by checkout page: give its checkout_url too. If no customer got this page, you can ' +
        'resolve it as "not_charged".',
    );
  }
  const fields = operation === 'initialize' ? { checkout_url } : { status: 'processing', message: '' };
  return {
    ...pickBase(record),
    resolutions: history({ reference }),
    state: 'completed',
    result: { reference, amount, currency, ...fields },
    resolved: true,
  };
}

/** Returns what every record of the key has. The follow-up begins anew: it would be about another payment. */
function pickBase(record: JournalRecord) {
  const { format, operation, service, fingerprint, amount, currency, network } = record;
  const { createdAt, attempts, requestIds } = record;
  const base = { format, operation, service, fingerprint, amount, currency, createdAt, attempts, requestIds };
  return network === undefined ? base : { ...base, network };
}

function contradictionError(recorded = '', more = ''): JournalError {
  return new JournalError(
    `The journal holds the result of this charge: ${redactReference(recorded)}. The service itself returned it.${more}`,
  );
}
