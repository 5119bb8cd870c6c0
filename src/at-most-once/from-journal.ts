import * as z from 'zod/mini';
import type { ClaimResult } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import { sanitizeError } from '../printable.ts';
import { redactUnknownSecrets } from '../redact.ts';
import type { KeyContext } from './doubt.ts';

const reference = z.string();
const claimSchema = z.object({
  key: z.string(),
  version: z.string(),
  attempt: z.object({ fingerprint: z.string() }),
});

/** A journal may be anybody's: what it says decides about a charge, so it has to be one of these. */
const standingSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('begun'), claim: claimSchema }),
  z.object({ state: z.literal('in_progress'), version: z.string() }),
  z.object({ state: z.literal('completed'), result: z.object({ reference }) }),
  z.object({ state: z.literal('unknown'), reference: z.optional(reference) }),
  z.object({ state: z.literal('conflict') }),
  z.object({ state: z.literal('other_service'), service: z.string() }),
]);

/** The journal was asked, and what it holds of the key is not understood: it may tell of a charge. */
export interface UnreadableRecord {
  readonly state: 'unreadable';
  readonly why: string;
  readonly cause: Error | undefined;
}

/** Whatever else a journal throws leaves as a JournalError: nothing is sent where it cannot be recorded. */
export async function parseClaimResult(
  subject: KeyContext,
  begin: () => Promise<ClaimResult>,
): Promise<ClaimResult | UnreadableRecord> {
  const answered = (standing: ClaimResult) =>
    standingSchema.safeParse(standing).success
      ? standing
      : unreadable('The journal gave an answer that is none.');
  return begin().then(answered, (fault: unknown) => {
    if (fault instanceof JournalError && fault.outcome === 'unknown')
      return unreadable(messageOf(fault), causeOf(fault));
    throw toJournalError(subject, fault);
  });
}

const unreadable = (why: string, cause?: Error): UnreadableRecord => ({ state: 'unreadable', why, cause });

function toJournalError({ operation, key }: KeyContext, fault: unknown): JournalError {
  const own = fault instanceof JournalError;
  const said = own ? messageOf(fault) : 'The journal failed.';
  return new JournalError(`${operation}, idempotencyKey ${key}: ${said} Nothing was sent.`, {
    operation,
    retryable: own ? fault.retryable : true,
    cause: own ? causeOf(fault) : sanitizeError(fault, redactUnknownSecrets),
  });
}

const messageOf = ({ message }: JournalError) => message.replace(/ Nothing was sent\.$/, '');

const causeOf = ({ cause }: JournalError) =>
  cause === undefined ? undefined : sanitizeError(cause, redactUnknownSecrets);
