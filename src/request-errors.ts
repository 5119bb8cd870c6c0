import type { InitializedPayment, MobileMoneyCharge } from './contract/answer.ts';
import type { Mismatch, OperationName } from './contract/operation.ts';
import type { Transaction } from './contract/transaction.ts';
import {
  bodyProperty,
  brand,
  cutBodyWhenInspected,
  type ErrorFacts,
  type Outcome,
  PaymentsError,
  showReference,
} from './errors.ts';
import { shownReference } from './redact.ts';

/**
 * No answer came for want of a connection. With `outcome` `not_sent` it is proven that none was made; a connection
 * that broke later is this error on a read only, and the `cause` of an {@link OutcomeUnknownError} on a POST.
 */
export class ConnectionError extends PaymentsError {
  declare readonly name: 'ConnectionError';
  declare readonly code: 'connection_error';
  static {
    brand(this, 'ConnectionError', 'connection_error');
  }
}

/** No whole answer came within `timeout`. On a POST it is the `cause` of an {@link OutcomeUnknownError}. */
export class RequestTimeoutError extends PaymentsError {
  declare readonly name: 'RequestTimeoutError';
  declare readonly code: 'request_timeout';
  static {
    brand(this, 'RequestTimeoutError', 'request_timeout');
  }
}

/**
 * An answer came that is none of SPEC.md's: a redirect, a body that cannot be read, a field that is missing or wrong.
 * On a POST it is the `cause` of an {@link OutcomeUnknownError}.
 */
export class UnexpectedResponseError extends PaymentsError {
  declare readonly name: 'UnexpectedResponseError';
  declare readonly code: 'unexpected_response';
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text; shortened, with key, phone numbers and emails redacted. Where a long one
   * is printed, only its start is shown.
   */
  readonly body: unknown;

  constructor(message: string, { status, body, ...facts }: ErrorFacts & { status: number; body: unknown }) {
    super(message, facts);
    this.status = status;
    Object.defineProperty(this, 'body', bodyProperty(body));
  }

  static {
    brand(this, 'UnexpectedResponseError', 'unexpected_response');
    cutBodyWhenInspected(this);
  }
}

/**
 * A POST may have reached the service, and no answer tells what became of it. **A charge may exist.** Do not charge
 * again and do not cancel the order: find out first. `cause` says what went wrong; an abort's reason is one such cause.
 * With an `idempotencyKey`, tell the journal what you found: `journal.resolve(key, { reference })` or
 * `journal.resolve(key, 'not_charged')`.
 */
export class OutcomeUnknownError extends PaymentsError {
  declare readonly name: 'OutcomeUnknownError';
  declare readonly code: 'outcome_unknown';
  readonly #reference: string | undefined;
  /** The key of the call, if it had one: resolve it. As it was given, but for a phone number or an email in it. */
  readonly idempotencyKey: string | undefined;

  /** `shown` is the reference as it may be printed. */
  constructor(
    message: string,
    facts: Pick<ErrorFacts, 'requestId'> & {
      operation: OperationName;
      cause: unknown;
      reference?: string | undefined;
      shown?: string | undefined;
      idempotencyKey?: string | undefined;
    },
  ) {
    const { operation, cause, reference, shown, idempotencyKey, requestId } = facts;
    super(message, { operation, cause, outcome: 'unknown', requestId });
    this.#reference = reference;
    showReference(this, reference, shown);
    this.idempotencyKey = idempotencyKey;
  }

  /** The transaction's reference, where the unusable answer still named one: verify it. */
  get reference(): string | undefined {
    return this.#reference;
  }

  static {
    brand(this, 'OutcomeUnknownError', 'outcome_unknown');
  }
}

/** A key as a message shows it: a long one would leave no room for what to do. */
export function quotedKey(idempotencyKey: string): string {
  const characters = [...idempotencyKey];
  return JSON.stringify(characters.length > 40 ? `${characters.slice(0, 39).join('')}…` : idempotencyKey);
}

/** What to do about a key whose outcome is unknown. */
export function howToResolve(
  operation: OperationName,
  idempotencyKey: string,
  reference: string | undefined,
): string {
  const look = reference ? `Verify ${reference}` : 'Look it up';
  const found = operation === 'initialize' ? '{ reference, checkout_url }' : '{ reference }';
  return `${look}, then journal.resolve(${quotedKey(idempotencyKey)}, ${found} or 'not_charged').`;
}

/** Any result that names a transaction. */
export type AnyTransaction = Transaction | InitializedPayment | MobileMoneyCharge;

/**
 * The service answered about a transaction, but not the one that was asked for: another reference, amount or currency.
 * Do not fulfil the order. The transaction exists; it is not asked for or charged again.
 */
export class TransactionMismatchError extends PaymentsError {
  declare readonly name: 'TransactionMismatchError';
  declare readonly code: 'transaction_mismatch';
  /** What differs. Of a reference with a secret in it, only what may be printed. */
  readonly mismatches: readonly Mismatch[];
  readonly #transaction: AnyTransaction;

  constructor(
    transaction: AnyTransaction,
    mismatches: readonly Mismatch[],
    facts: {
      operation: OperationName;
      outcome: Outcome | null;
      requestId?: string | undefined;
      redact?: { id(text: string): string };
    },
  ) {
    const { redact, ...shared } = facts;
    const { reference } = transaction;
    const print = redact?.id ?? shownReference;
    const printed = mismatches.map((mismatch) =>
      mismatch.field === 'reference'
        ? { ...mismatch, expected: print(mismatch.expected), actual: print(mismatch.actual) }
        : mismatch,
    );
    const list = printed.map(
      ({ field, expected, actual }) => `${field} is ${actual} where ${expected} was asked for`,
    );
    const shown = print(reference);
    super(`Transaction ${shown}: ${list.join('; ')}. Do not fulfil the order on it.`, shared);
    this.mismatches = printed;
    this.#transaction = transaction;
    showReference(this, reference, shown);
  }

  /** The reference of the transaction that was returned. */
  get reference(): string {
    return this.#transaction.reference;
  }

  /** The transaction as it was returned. Printing the error does not print it. */
  get transaction(): AnyTransaction {
    return this.#transaction;
  }

  static {
    brand(this, 'TransactionMismatchError', 'transaction_mismatch');
  }
}
