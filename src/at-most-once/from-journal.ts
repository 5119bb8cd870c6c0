import * as z from 'zod/mini';
import type { OperationName } from '../contract/operation.ts';
import type { Standing } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import { printable } from '../printable.ts';
import { withoutSecrets } from '../redact.ts';

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
]);

/** Whatever a journal throws leaves as a JournalError: nothing is sent where it cannot be recorded. */
export async function standingFrom(
  operation: OperationName,
  begin: () => Promise<Standing>,
): Promise<Standing> {
  const standing = await begin().catch((fault: unknown) => {
    throw asJournalError(operation, fault);
  });
  if (standingSchema.safeParse(standing).success) return standing;
  throw new JournalError(`${operation}: The journal gave an answer that is none. Nothing was sent.`, {
    operation,
  });
}

function asJournalError(operation: OperationName, fault: unknown): JournalError {
  const own = fault instanceof JournalError;
  const said = own ? fault.message.replace(/ Nothing was sent\.$/, '') : 'The journal failed.';
  return new JournalError(`${operation}: ${said} Nothing was sent.`, {
    operation,
    retryable: own ? fault.retryable : true,
    cause:
      own && fault.cause === undefined ? undefined : printable(own ? fault.cause : fault, withoutSecrets),
  });
}
