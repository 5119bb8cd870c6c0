import { referenceSchema } from '../api/input.ts';
import { initializedPaymentSchema } from '../api/transaction.ts';
import { ConfigurationError, JournalError } from '../errors.ts';
import { redactApiKeys, redactButUuids, redactReference } from '../redact.ts';
import { isObject, stringField } from '../untrusted.ts';
import { type JournalRecord, type RecordedResolution, referenceOf } from './record.ts';

/**
 * What a person found out about a charge whose outcome was unknown: its `reference`, or that it does not exist
 * (`not_charged`). A payment of `initialize` needs its `checkout_url` too. `closed` ends what the other two cannot, such as a
 * charge of another amount: the payment was dealt with outside (paid back, or accepted), and is never charged again.
 */
export type Resolution = { reference: string; checkout_url?: string | undefined } | 'not_charged' | 'closed';

/** Who resolved a key, and why. Both are kept for ever, with the time. */
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
    resolution: typeof resolution === 'string' ? validateWord(resolution) : validateFound(resolution),
    // A person is often named by an email address, which stays.
    by: redactApiKeys(validateText(note, 'by', 200)),
    reason: redactButUuids(validateText(note, 'reason', 1_000)),
    resolutionsSeen: validateSeen(note.resolutionsSeen),
  };
}

function validateWord(resolution: 'not_charged' | 'closed') {
  if (resolution === 'not_charged' || resolution === 'closed') return resolution;
  throw new ConfigurationError(HOW_TO_RESOLVE);
}

const HOW_TO_RESOLVE =
  'Resolve a key with { reference }, the TXN-… of the charge that you found, or with "not_charged" or "closed".';

function validateFound(resolution: Exclude<Resolution, string>) {
  const { reference, checkout_url } = Object(resolution);
  if (!referenceSchema.safeParse(reference).success) throw new ConfigurationError(HOW_TO_RESOLVE);
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

/**
 * Returns the record once it is resolved, or `null` if it holds that already. What the service itself returned cannot be
 * overruled. What a person resolved can be resolved again.
 *
 * @throws {JournalError} if the record contradicts the resolution.
 * @throws {ConfigurationError} if the resolution needs a `checkout_url`.
 */
export function applyResolution(record: JournalRecord, valid: ValidResolution): JournalRecord | null {
  const { resolution } = valid;
  if (resolution === 'closed') return closeRecord(record, valid);
  if (resolution === 'not_charged') return freeRecord(record, valid);
  return completeRecord(record, resolution, valid);
}

/** Once a final success is recorded, the service itself has confirmed the reference that a person found. */
function isFromService(record: JournalRecord): boolean {
  if (record.state !== 'completed') return false;
  return record.resolved !== true || record.followUp?.final?.status === 'success';
}

function addResolution(
  record: JournalRecord,
  resolution: RecordedResolution['resolution'],
  { by, reason }: ValidResolution,
): RecordedResolution[] {
  return [...record.resolutions, { at: Date.now(), by, reason, resolution }];
}

function closeRecord(record: JournalRecord, valid: ValidResolution): JournalRecord | null {
  if (record.state === 'closed') return null;
  if (!canBeClosed(record)) throw notClosableError(record);
  const resolutions = addResolution(record, 'closed', valid);
  return { ...pickBase(record), resolutions, state: 'closed', reference: referenceOf(record) };
}

function freeRecord(record: JournalRecord, valid: ValidResolution): JournalRecord | null {
  if (record.state === 'closed') throw notClosableError(record);
  if (isFromService(record)) throw contradictionError(referenceOf(record), ' It is not "not charged".');
  if (record.state === 'not_charged') return null;
  const resolutions = addResolution(record, 'not_charged', valid);
  return { ...pickBase(record), resolutions, state: 'not_charged' };
}

function completeRecord(
  record: JournalRecord,
  { reference, checkout_url }: Exclude<Resolution, string>,
  valid: ValidResolution,
): JournalRecord | null {
  if (record.state === 'completed' && record.result.reference === reference) return null;
  if (isFromService(record)) throw contradictionError(referenceOf(record));
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
    resolutions: addResolution(record, { reference }, valid),
    state: 'completed',
    result: { reference, amount, currency, ...fields },
    resolved: true,
  };
}

/** Returns what every record of the key has. The follow-up begins anew: it would be about another payment. */
function pickBase(record: JournalRecord) {
  const { format, operation, service, fingerprint, amount, currency, network, order } = record;
  const { createdAt, attempts, requestIds } = record;
  const what = { format, operation, service, fingerprint, amount, currency, network, order };
  return { ...what, createdAt, attempts, requestIds };
}

/** What `onAttention` was called for, if only a person can end it: no check can make the payment right. */
const CLOSABLE = ['mismatch', 'gone', 'shared_reference', 'price_changed', 'paid_twice'];

/** A claim whose lease has expired is unresolved as well: one that holds was refused before. */
function canBeClosed({ state, followUp }: JournalRecord): boolean {
  if (state === 'unknown' || state === 'begun') return true;
  return state === 'completed' && CLOSABLE.some((reason) => followUp?.reported.includes(reason));
}

function notClosableError(record: JournalRecord): JournalError {
  const why =
    record.state === 'closed'
      ? 'This key was closed by a person: only the reference of its charge, found after all, can replace that.'
      : `This key is ${record.state}, and nothing is wrong with its payment: there is nothing to close.`;
  return new JournalError(`${why} Nothing was changed.`);
}

function contradictionError(recorded = '', more = ''): JournalError {
  return new JournalError(
    `The journal holds the result of this charge: ${redactReference(recorded)}. The service itself returned it.${more}`,
  );
}
