import type { OperationName } from '../contract/operation.ts';
import { OutcomeUnknownError } from '../request-errors.ts';

/** The call that an error is about. */
export interface Subject {
  readonly operation: OperationName;
  /** The idempotency key as it may be printed. */
  readonly key: string;
}

/** What the record of a key leaves open, and how somebody closes it. */
export function inDoubt({ operation, key }: Subject, what: string, reference?: string): OutcomeUnknownError {
  const may =
    operation === 'initialize'
      ? 'A payment may have been started.'
      : 'A charge may exist: do not charge under another key and do not cancel the order before you know.';
  const look = reference ? `Verify ${reference}` : "Look for it in the service's records";
  const settle =
    operation === 'initialize'
      ? `{ reference, checkout_url }), or with 'not_charged' to start another payment.`
      : `{ reference }), or with 'not_charged' where you are sure that there is none.`;
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: ${what} ${may} ${look}, then settle the key: journal.resolve(${key}, ${settle}`,
    { operation, cause: undefined, reference },
  );
}
