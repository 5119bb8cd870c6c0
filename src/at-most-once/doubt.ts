import type { OperationName } from '../contract/operation.ts';
import { JournalError } from '../journal/journal-error.ts';
import { printable } from '../printable.ts';
import { withoutSecrets } from '../redact.ts';
import { OutcomeUnknownError } from '../request-errors.ts';

/** What the record of a key leaves open. Nothing was sent by the call that fails with it. */
export function inDoubt(operation: OperationName, what: string, reference?: string): OutcomeUnknownError {
  const look = reference ? `Verify ${reference}` : "Look for it in the service's records";
  return new OutcomeUnknownError(
    `${operation}: ${what} A charge may exist: do not charge under another key. ${look}, then settle this one with ` +
      'journal.resolve.',
    { operation, cause: undefined, reference },
  );
}

/** Whatever a journal throws leaves as a JournalError: nothing is sent where it cannot be recorded. */
export async function fromJournal<T>(operation: OperationName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const own = error instanceof JournalError;
    throw new JournalError(`${operation}: ${own ? error.message : 'The journal failed.'} Nothing was sent.`, {
      operation,
      retryable: own ? error.retryable : true,
      cause: own ? error.cause : printable(error, withoutSecrets),
    });
  }
}
