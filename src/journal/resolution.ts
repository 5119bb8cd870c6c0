import { referenceSchema } from '../api/input.ts';
import { initializedPaymentSchema } from '../api/transaction.ts';
import { ConfigurationError, quoteKey } from '../errors.ts';
import type { PlainDecision } from '../ledger/resolve.ts';
import { redactApiKeys, redactButUuids, redactReference } from '../support/redact.ts';
import { isObject, stringField } from '../support/untrusted.ts';

/**
 * What a person decides about a payment.
 *
 * - `{ reference }`: the charge of an unresolved payment, or a transaction that belongs to an order. `checkout_url` is the address
 *   of its page, if a customer is still to be sent there.
 * - `not_charged`: no charge exists, so the payment can be charged again.
 * - `accepted`: a payment of another amount, or at an earlier price, counts as it is. It pays the order.
 * - `closed`: the payment was dealt with outside (paid back). It is never charged again, and not followed.
 */
export type Resolution =
  | { reference: string; checkout_url?: string | undefined }
  | 'not_charged'
  | 'accepted'
  | 'closed';

/** Who resolved a payment, and why. Both are kept in its record, with the time. */
export interface ResolutionNote {
  /**
   * The person, 1 to 200 characters. It is stored as it is, without keys `sk_test_…` and `sk_live_…`.
   *
   * @example 'kofi@shop.example'
   */
  by: string;
  /** What they found, 1 to 1,000 characters. It is stored without phone numbers, emails and API keys. */
  reason: string;
  /**
   * The `revision` of the entry that the person saw. If the payment has changed since, by a check, a press or another person, the
   * resolution is refused. Give it in a page that shows an entry and resolves it later.
   *
   * @default that of the entry when the call begins
   */
  revision?: string | undefined;
}

/** A resolution whose fields were checked, as it is applied. */
export interface ValidResolution {
  readonly resolution: Resolution;
  readonly by: string;
  readonly reason: string;
  readonly revision: string | undefined;
}

/** @throws {ConfigurationError} if the resolution or its note is not valid. */
export function validateResolution(resolution: Resolution, note: ResolutionNote): ValidResolution {
  return {
    resolution: typeof resolution === 'string' ? validateWord(resolution) : validateFound(resolution),
    // A person is often named by an email address, which stays.
    by: redactApiKeys(validateText(note, 'by', 200)),
    reason: redactButUuids(validateText(note, 'reason', 1_000)),
    revision: validateRevision(note.revision),
  };
}

const PLAIN_DECISIONS: readonly unknown[] = ['not_charged', 'accepted', 'closed'] satisfies PlainDecision[];

function validateWord(resolution: PlainDecision): PlainDecision {
  if (PLAIN_DECISIONS.includes(resolution)) return resolution;
  throw unknownError(quoteKey(redactReference(resolution)));
}

const unknownError = (what: string) =>
  new ConfigurationError(
    `${what} is no resolution. Give { reference }, "not_charged", "accepted" or "closed". Nothing was changed.`,
  );

function validateFound(resolution: Exclude<Resolution, string>) {
  if (!isObject(resolution) || !('reference' in resolution)) throw unknownError(`This ${typeof resolution}`);
  const { reference, checkout_url } = resolution;
  if (!referenceSchema.safeParse(reference).success)
    throw new ConfigurationError(
      'reference must be that of a transaction, such as TXN-8F2K1. Nothing was changed.',
    );
  const address = initializedPaymentSchema.shape.checkout_url;
  if (checkout_url !== undefined && !address.safeParse(checkout_url).success)
    throw new ConfigurationError("checkout_url must be the web address of the payment's checkout page.");
  return { reference, checkout_url };
}

function validateText(note: ResolutionNote, name: 'by' | 'reason', maxLength: number): string {
  const text = isObject(note) ? stringField(note, name)?.trim() : undefined;
  if (text && text.length <= maxLength && !/\p{Cc}|\p{Cs}/u.test(text)) return text;
  const meaning = name === 'by' ? 'who decides' : 'what was found out';
  throw new ConfigurationError(
    `A resolution needs { by, reason }. ${name} must be text of 1 to ${maxLength} characters in one line: ${meaning}.`,
  );
}

function validateRevision(revision: string | undefined): string | undefined {
  if (revision === undefined || typeof revision === 'string') return revision;
  throw new ConfigurationError('revision must be the revision of the entry that was shown.');
}
