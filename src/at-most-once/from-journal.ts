import * as z from 'zod/mini';
import type { Standing } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import { printable } from '../printable.ts';
import { withoutSecrets } from '../redact.ts';
import type { Subject } from './doubt.ts';

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
export interface Unreadable {
  readonly state: 'unreadable';
  readonly why: string;
  readonly cause: Error | undefined;
}

/** Whatever else a journal throws leaves as a JournalError: nothing is sent where it cannot be recorded. */
export async function standingFrom(
  subject: Subject,
  begin: () => Promise<Standing>,
): Promise<Standing | Unreadable> {
  const answered = (standing: Standing) =>
    standingSchema.safeParse(standing).success
      ? standing
      : unreadable('The journal gave an answer that is none.');
  return begin().then(answered, (fault: unknown) => {
    if (fault instanceof JournalError && fault.outcome === 'unknown')
      return unreadable(saidBy(fault), causeOf(fault));
    throw asJournalError(subject, fault);
  });
}

const unreadable = (why: string, cause?: Error): Unreadable => ({ state: 'unreadable', why, cause });

function asJournalError({ operation, key }: Subject, fault: unknown): JournalError {
  const own = fault instanceof JournalError;
  const said = own ? saidBy(fault) : 'The journal failed.';
  return new JournalError(`${operation}, idempotencyKey ${key}: ${said} Nothing was sent.`, {
    operation,
    retryable: own ? fault.retryable : true,
    cause: own ? causeOf(fault) : printable(fault, withoutSecrets),
  });
}

const saidBy = ({ message }: JournalError) => message.replace(/ Nothing was sent\.$/, '');

const causeOf = ({ cause }: JournalError) =>
  cause === undefined ? undefined : printable(cause, withoutSecrets);
