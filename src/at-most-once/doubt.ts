import type { OperationName } from '../contract/operation.ts';
import { howToResolve, OutcomeUnknownError } from '../request-errors.ts';

/** The call that an error is about. */
export interface KeyContext {
  readonly operation: OperationName;
  /** As it may be printed. */
  readonly idempotencyKey: string;
  /** The same as a message shows it: quoted, and not too long. */
  readonly key: string;
  /** A reference or another id as it may be printed. */
  readonly print: (id: string) => string;
}

/** What the record of a key leaves open, and how somebody closes it. */
export function unresolvedKeyError(
  { operation, idempotencyKey, key, print }: KeyContext,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && print(reference);
  return new OutcomeUnknownError(
    `${operation}: an earlier call under idempotencyKey ${key} ${mayHave(operation)}. Nothing was sent. ` +
      howToResolve(operation, idempotencyKey, shown),
    { operation, cause: undefined, reference, shown, idempotencyKey },
  );
}

/** The charge was made, and somebody resolved its key otherwise before its response came. */
export function resolvedOtherwise(
  { operation, idempotencyKey, key, print }: KeyContext,
  reference: string,
): OutcomeUnknownError {
  const shown = print(reference);
  return new OutcomeUnknownError(
    `${operation}: the service made ${shown}, but idempotencyKey ${key} was resolved otherwise meanwhile. Two ` +
      `charges may exist: verify ${shown}, and compare it with journal.read.`,
    { operation, cause: undefined, reference, shown, idempotencyKey },
  );
}

/** There is a record, and nobody can say what it tells of. Nor can it be resolved by a process that cannot read it. */
export function unreadableRecordError(
  { operation, idempotencyKey, key }: KeyContext,
  why: string,
  cause: Error | undefined,
): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: ${why} Nothing was sent. An earlier call ${mayHave(operation)}: look it up ` +
      'at the service.',
    { operation, cause, idempotencyKey },
  );
}

function mayHave(operation: OperationName): string {
  return operation === 'initialize' ? 'may have started a payment' : 'may have charged';
}
