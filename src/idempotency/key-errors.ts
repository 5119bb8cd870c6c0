import type { OperationName } from '../api/operations.ts';
import {
  ConfigurationError,
  describeResolution,
  IdempotencyConflictError,
  JournalError,
  OutcomeUnknownError,
  quoteKey,
} from '../errors.ts';
import { createRedact, type Redact, redactUnknownSecrets } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';
import type { CreateRequest, KeyedCall } from './claim.ts';

/** The call that an error or event is about, with its key redacted when that is needed. */
export interface KeyContext {
  readonly operation: OperationName;
  readonly redactedKey: string;
  /** For messages: redacted, quoted, and short enough to leave room for what to do. */
  readonly quotedKey: string;
  readonly redactId: (id: string) => string;
}

/** Redacts what this call was given: the API key, the customer's phone and email. */
export function createKeyContext<Input, Request extends CreateRequest, Result>(
  idempotencyKey: string,
  { operation, call }: KeyedCall<Input, Request, Result>,
  redactApiKey: (id: string) => string,
): KeyContext {
  let redact: Redact | undefined;
  const redactId = (id: string) => {
    redact ??= createRedact([], call.request.phone, call.request.customer_email);
    return redactApiKey(redact.id(id));
  };
  return {
    operation: operation.name,
    // Most calls end without an error or event that names their key.
    get redactedKey() {
      return redactId(idempotencyKey);
    },
    get quotedKey() {
      return quoteKey(this.redactedKey);
    },
    redactId,
  };
}

export function unresolvedKeyError(context: KeyContext, reference?: string): OutcomeUnknownError {
  const { operation, redactedKey, redactId } = context;
  const shown = reference && redactId(reference);
  const message = `an earlier call ${mightHave(operation)}. Nothing was sent. ${describeResolution(operation, redactedKey, shown)}`;
  return unknownOutcomeError(context, message, reference);
}

/** The record of the key cannot be read, so this process cannot resolve the key either. */
export function unreadableRecordError(
  { operation, redactedKey, quotedKey }: KeyContext,
  error: JournalError,
): OutcomeUnknownError {
  const cause = error.cause === undefined ? undefined : sanitizeError(error.cause, redactUnknownSecrets);
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${quotedKey}: ${messageOf(error)} Nothing was sent. An earlier call ${mightHave(operation)}: find ` +
      'it at the service.',
    { operation, cause, idempotencyKey: redactedKey },
  );
}

function unknownOutcomeError(
  { operation, redactedKey, redactId }: KeyContext,
  message: string,
  reference: string | undefined,
): OutcomeUnknownError {
  const shown = reference && redactId(reference);
  const facts = { operation, cause: undefined, reference, shown, idempotencyKey: redactedKey };
  return new OutcomeUnknownError(`${operation}: ${message}`, facts);
}

function mightHave(operation: OperationName): string {
  return operation === 'initialize' ? 'might have started a payment' : 'might have charged';
}

/** The charge is recorded, but its result cannot be replayed. */
export function unreadableResultError(context: KeyContext, reference: string): OutcomeUnknownError {
  const message =
    `the journal holds ${context.redactId(reference)} for key ${context.quotedKey}, but the rest of its record cannot be ` +
    'read. Nothing was sent now. Do not charge again: verify it.';
  return unknownOutcomeError(context, message, reference);
}

/** A person closed the key: its payment was dealt with outside. */
export function closedKeyError(context: KeyContext, reference: string | undefined): OutcomeUnknownError {
  const message =
    `a person closed key ${context.quotedKey}: its payment was dealt with by hand. Nothing was sent. ` +
    anotherKey(context.operation);
  return unknownOutcomeError(context, message, reference);
}

export function sharedReferenceError(context: KeyContext, reference: string): OutcomeUnknownError {
  const message =
    `the service returned ${context.redactId(reference)}, which another key has. One transaction settles one key: do not ` +
    'charge again, find out whether this one was charged, and resolve it.';
  return unknownOutcomeError(context, message, reference);
}

const anotherKey = (operation: OperationName) =>
  `Another ${operation === 'initialize' ? 'payment' : 'charge'} needs another key.`;

/** The key was resolved with another result while its charge was in flight. */
export function resolvedMeanwhileError(context: KeyContext, reference: string): OutcomeUnknownError {
  const message =
    `the service made ${context.redactId(reference)}, but key ${context.quotedKey} was resolved otherwise meanwhile. Two ` +
    'charges might exist: verify it, and compare it with journal.read.';
  return unknownOutcomeError(context, message, reference);
}

interface UsedKey {
  readonly state: 'completed' | 'in_progress' | 'unknown' | 'closed';
  readonly reference: string | undefined;
}

/** The key was used with other input, and a charge of that call might exist. */
export function conflictError(context: KeyContext, found: UsedKey): IdempotencyConflictError {
  const { operation, redactedKey: idempotencyKey } = context;
  const message = `${operation}: ${describeConflict(context, found)}`;
  return new IdempotencyConflictError(message, { operation, idempotencyKey });
}

/** Only an unresolved key can be resolved. The result of another one is known, or will be. */
function describeConflict(
  { operation, redactedKey, quotedKey, redactId }: KeyContext,
  found: UsedKey,
): string {
  const what = operation === 'initialize' ? 'payment' : 'charge';
  const advice = anotherKey(operation);
  const reference = found.reference && redactId(found.reference);
  switch (found.state) {
    case 'completed':
      return `key ${quotedKey} had other input, and its ${what} is ${reference}. Nothing was sent. Verify it. ${advice}`;
    case 'closed':
      return `key ${quotedKey} had other input, and a person closed it. Nothing was sent. ${advice}`;
    case 'in_progress':
      return `a call with other input holds key ${quotedKey} now. Nothing was sent. Wait until it has ended. ${advice}`;
    case 'unknown':
      return (
        // With a UUID in the key, there is no room for more.
        `${operation === 'initialize' ? '' : 'a call with '}other input ${mightHave(operation)}. Nothing was sent. ` +
        describeResolution(operation, redactedKey, reference)
      );
  }
}

/** A charge of one mode must not be recorded in the journal of the other. */
export function modeChangedError({ operation, quotedKey }: KeyContext): ConfigurationError {
  return new ConfigurationError(
    `${operation}: apiKey gave a key of another mode (test or not) than when ${quotedKey} was claimed. ` +
      'Nothing was sent. Use one client and one journal for each mode.',
    { operation },
  );
}

/** Another process might have resolved the key by now, so a request could charge a second time. */
export function leaseExpiredError({ operation }: KeyContext): JournalError {
  return new JournalError(
    `${operation}: the lease of the key expired before the request: this process or its journal was blocked for too ` +
      'long. Nothing was sent. Call again.',
    { operation, retryable: true },
  );
}

/** @returns the error of a journal, as that of a call under which nothing was sent. */
export function notSentError({ operation, quotedKey }: KeyContext, error: unknown): JournalError {
  const isOwn = error instanceof JournalError;
  const message = isOwn ? messageOf(error) : 'The journal failed.';
  const cause = isOwn ? error.cause : error;
  return new JournalError(`${operation}, idempotencyKey ${quotedKey}: ${message} Nothing was sent.`, {
    operation,
    retryable: isOwn ? error.retryable : true,
    cause: cause === undefined ? undefined : sanitizeError(cause, redactUnknownSecrets),
  });
}

const messageOf = ({ message }: JournalError) => message.replace(/ Nothing was sent\.$/, '');
