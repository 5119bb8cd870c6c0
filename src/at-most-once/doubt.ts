import type { OperationName } from '../contract/operation.ts';
import { OutcomeUnknownError } from '../request-errors.ts';

/** The call that an error is about. */
export interface Subject {
  readonly operation: OperationName;
  /** The idempotency key as it may be printed. */
  readonly key: string;
  /** A reference or another id as it may be printed. */
  readonly print: (id: string) => string;
}

/** What the record of a key leaves open, and how somebody closes it. */
export function inDoubt(
  { operation, key, print }: Subject,
  what: string,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && print(reference);
  const look = shown ? `Verify ${shown}` : "Look for it in the service's records";
  const settle =
    operation === 'initialize'
      ? `{ reference, checkout_url }), or with 'not_charged' to start another payment.`
      : `{ reference }), or with 'not_charged' where you are sure that there is none.`;
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: ${what} ${whatMayBe(operation)} ${look}, then settle the key: journal.resolve(${key}, ${settle}`,
    { operation, cause: undefined, reference, shown },
  );
}

/** There is a record, and nobody can say what it tells of. Nor can it be settled by whoever cannot read it. */
export function notUnderstood(
  { operation, key }: Subject,
  why: string,
  cause: Error | undefined,
): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: ${why} Nothing was sent. ${whatMayBe(operation)} Read the key with the version ` +
      "of this package that wrote it, or look in the service's records.",
    { operation, cause },
  );
}

function whatMayBe(operation: OperationName): string {
  return operation === 'initialize'
    ? 'A payment may have been started.'
    : 'A charge may exist: do not charge under another key and do not cancel the order before you know.';
}
