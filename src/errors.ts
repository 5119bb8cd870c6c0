/**
 * Every error that a caller can catch, by what went wrong. Each class tells what happened, whether a charge can exist,
 * and what to do next.
 */

import type { Mismatch, OperationName } from './api/operations.ts';
import {
  getPrintableStatus,
  type InitializedPayment,
  type MobileMoneyCharge,
  type Transaction,
} from './api/transaction.ts';
import { redactFieldName, redactReference } from './redact.ts';
import { isObject } from './untrusted.ts';

/**
 * What might have happened to the money when a call failed.
 *
 * - `not_sent`: nothing left this process, or no connection was made. No charge exists from this call. An earlier call
 *   under the same `idempotencyKey` might have charged.
 * - `rejected`: the service refused the request. That no charge exists from this call is an assumption
 *   (docs/reference/service.md, "Errors").
 * - `unknown`: a charge might exist. Do not charge again before you know.
 */
export type Outcome = 'not_sent' | 'rejected' | 'unknown';

/** The `code` of a {@link PaymentsError}: one for each class. */
export type PaymentsErrorCode =
  | 'api_error'
  | 'authentication_error'
  | 'closed'
  | 'configuration_error'
  | 'conflict'
  | 'connection_error'
  | 'idempotency_conflict'
  | 'invalid_input'
  | 'invalid_request'
  | 'journal_error'
  | 'not_found'
  | 'outcome_unknown'
  | 'permission_denied'
  | 'rate_limited'
  | 'request_timeout'
  | 'server_error'
  | 'transaction_mismatch'
  | 'unexpected_response'
  | 'wait_timeout';

/** What the constructors of the error classes take after the message. */
export interface ErrorFacts {
  /** The method that failed. */
  operation?: OperationName | undefined;
  /** What might have happened to the money. @default null, for a read */
  outcome?: Outcome | null;
  /** Whether the same call can be made again without harm. @default false */
  retryable?: boolean;
  /** The error that caused this one. */
  cause?: unknown;
  /** The id of the request, for the service's support. */
  requestId?: string | undefined;
}

/** By class, because one application can load a class twice: the brand is the same in the ES module and in CommonJS. */
const brands = new WeakMap<object, symbol>();

/**
 * The class of every error that a call of the client rejects with. An abort is the exception: it rejects with the signal's
 * own reason.
 *
 * A printed or serialised error shows no API key, and neither phone number nor email address of the call. What is
 * recognised in a text of the service is in docs/explanation/security.md.
 *
 * @example
 * ```ts
 * try {
 *   await payments.chargeMobileMoney(input, { idempotencyKey: `order-${order.id}/1` });
 * } catch (error) {
 *   if (error instanceof PaymentsError && error.outcome === 'unknown') await holdForReview(order, error);
 *   else throw error;
 * }
 * ```
 */
export abstract class PaymentsError extends Error {
  /** One for each class. It is the first own property, so that an uncaught error and a structured log show it. */
  readonly code: PaymentsErrorCode;
  /** The method that failed, if one was called. */
  readonly operation: OperationName | undefined;
  /**
   * What might have happened to the money. Always `null` for a read, which moves none: it says nothing about the payment,
   * and does not mean that nothing was charged.
   */
  readonly outcome: Outcome | null;
  /** Whether the same call can be made again without harm, and can then succeed. */
  readonly retryable: boolean;
  /**
   * The id of the request: the one that the service returned, else the `X-Request-Id` that was sent. Quote it to the
   * service's support. The property is absent if the error is not about one request.
   */
  declare readonly requestId: string | undefined;

  constructor(message: string, facts: ErrorFacts = {}) {
    const { operation, outcome = null, retryable = false, cause, requestId } = facts;
    super(message, cause === undefined ? undefined : { cause });
    this.code = new.target.prototype.code;
    this.operation = operation;
    this.outcome = outcome;
    this.retryable = retryable;
    if (requestId !== undefined) this.requestId = requestId;
  }

  static {
    brand(this, 'PaymentsError');
  }

  /** Also holds for the same class of the other module system. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const symbol = brands.get(this);
    if (!symbol) return Function.prototype[Symbol.hasInstance].call(this, value);
    return isObject(value) && symbol in value;
  }

  /** What `JSON.stringify` and a structured log show. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, cause } = this;
    return { name, code, message, ...Object.fromEntries(Object.entries(this)), cause: causeToJSON(cause) };
  }
}

/** Sets name, code and brand on the prototype of a class. */
function brand(errorClass: { prototype: PaymentsError }, name: string, code?: PaymentsErrorCode) {
  const symbol = Symbol.for(`payment-collection-client/${name}`);
  brands.set(errorClass, symbol);
  Object.defineProperties(errorClass.prototype, {
    name: { value: name, configurable: true, writable: true },
    code: { value: code, configurable: true, writable: true },
    [symbol]: { value: true },
  });
}

const MAX_CAUSES = 8;

/** The reason of an abort can be any value, even one that JSON cannot write. */
function causeToJSON(cause: unknown, depth = 0): unknown {
  if (cause instanceof PaymentsError) return cause;
  if (cause instanceof Error) {
    const inner = depth < MAX_CAUSES ? { cause: causeToJSON(cause.cause, depth + 1) } : {};
    return { name: cause.name, message: cause.message, ...inner };
  }
  try {
    JSON.stringify(cause);
    return cause;
  } catch {
    return Object.prototype.toString.call(cause);
  }
}

// Nothing was sent: the call itself has to change.

/** Returns the outcome of a call that sent nothing. A read moves no money: its errors must not mean "not charged". */
function outcomeIfNotSent(operation: OperationName | undefined): 'not_sent' | null {
  return operation === 'verify' ? null : 'not_sent';
}

/**
 * An option, a key or an address cannot work. Nothing was sent. The message tells what to change. `outcome` is `not_sent`, or
 * `null` for a read.
 */
export class ConfigurationError extends PaymentsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: 'configuration_error';

  constructor(message: string, facts: Omit<ErrorFacts, 'outcome'> = {}) {
    super(message, { ...facts, outcome: outcomeIfNotSent(facts.operation) });
  }

  static {
    brand(this, 'ConfigurationError', 'configuration_error');
  }
}

/** One thing that is wrong with an input: the field, what it must be, and a code for programs. */
export interface InputIssue {
  path: string;
  message: string;
  code: string;
}

/**
 * The input is not valid. Nothing was sent. Correct the fields that `issues` lists: it lists all of them at once.
 * `outcome` is `not_sent`, or `null` for a read.
 */
export class InvalidInputError extends PaymentsError {
  declare readonly name: 'InvalidInputError';
  declare readonly code: 'invalid_input';
  readonly issues: readonly InputIssue[];

  constructor(issues: readonly InputIssue[], operation?: OperationName) {
    const list = issues
      .map(({ path, message }) => (path ? `${redactFieldName(path)} ${message}` : message))
      .join('; ');
    super(`Invalid input, nothing was sent: ${list}.`, { operation, outcome: outcomeIfNotSent(operation) });
    this.issues = issues;
  }

  static {
    brand(this, 'InvalidInputError', 'invalid_input');
  }
}

/**
 * The client is closed: it ended the wait, or did not start the call. The call sent nothing, and a wait says nothing
 * about the payment. Make a new client, and check the transaction again. `outcome` is `not_sent`, or `null` for a read.
 */
export class ClosedError extends PaymentsError {
  declare readonly name: 'ClosedError';
  declare readonly code: 'closed';

  constructor(operation?: OperationName) {
    super('The client is closed.', { operation, outcome: outcomeIfNotSent(operation) });
  }

  static {
    brand(this, 'ClosedError', 'closed');
  }
}

// No whole response came back.

/**
 * No response came, because the connection failed. If `outcome` is `not_sent`, it is proven that no connection was made:
 * no charge exists, and the call can be made again. A connection that broke later is this error on a read only. On a POST
 * it is the `cause` of an {@link OutcomeUnknownError}.
 */
export class ConnectionError extends PaymentsError {
  declare readonly name: 'ConnectionError';
  declare readonly code: 'connection_error';

  static {
    brand(this, 'ConnectionError', 'connection_error');
  }
}

/**
 * No whole response came within `timeout`. It is the error of a read, which can be made again. On a POST it is the
 * `cause` of an {@link OutcomeUnknownError}: a charge might exist.
 */
export class RequestTimeoutError extends PaymentsError {
  declare readonly name: 'RequestTimeoutError';
  declare readonly code: 'request_timeout';

  static {
    brand(this, 'RequestTimeoutError', 'request_timeout');
  }
}

// The service responded with an error.

/** An error that the service reported for one field. */
export interface FieldError {
  field: string;
  message: string;
}

export interface APIErrorFacts extends ErrorFacts {
  operation: OperationName;
  outcome: Outcome | null;
  retryable: boolean;
  status: number;
  body: unknown;
  serviceMessage: string | undefined;
  fieldErrors: readonly FieldError[];
  requestId: string | undefined;
  retryAfter: number | undefined;
}

/**
 * The service responded with an error status, or with `status: false`. If a POST throws it, `outcome` is `rejected`. That
 * no charge exists from this call is an assumption (docs/reference/service.md, "Errors"). If a charge might exist, the
 * POST throws an {@link OutcomeUnknownError} with this error as its `cause`. On a read it says nothing about the payment.
 * Some statuses have a subclass.
 *
 * The service documents no error shape, so everything about the body is best effort
 * (docs/reference/service.md, "Errors").
 */
export class APIError extends PaymentsError {
  declare readonly name: string;
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text. It is shortened, and API key, phone numbers and emails are redacted. If it
   * is long, only its start is printed.
   */
  readonly body: unknown;
  /** The message of the service, if it gave one. */
  readonly serviceMessage: string | undefined;
  /** What the service reported for single fields. Empty if it reported nothing. */
  readonly fieldErrors: readonly FieldError[];
  /** How long the service asks to wait before the next request, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, facts: APIErrorFacts) {
    super(message, facts);
    this.status = facts.status;
    defineBody(this, facts.body);
    this.serviceMessage = facts.serviceMessage;
    this.fieldErrors = facts.fieldErrors;
    this.retryAfter = facts.retryAfter;
  }

  static {
    brand(this, 'APIError', 'api_error');
    truncateBodyOnInspect(this);
  }
}

/** 400 or 422: the service refused the input. Correct it. */
export class InvalidRequestError extends APIError {
  declare readonly name: 'InvalidRequestError';
  declare readonly code: 'invalid_request';

  static {
    brand(this, 'InvalidRequestError', 'invalid_request');
  }
}

/** 401: the API key is missing, wrong or revoked. Check the key. */
export class AuthenticationError extends APIError {
  declare readonly name: 'AuthenticationError';
  declare readonly code: 'authentication_error';

  static {
    brand(this, 'AuthenticationError', 'authentication_error');
  }
}

/** 403: the API key does not allow this. Check its mode: charging Mobile Money needs a live key. */
export class PermissionError extends APIError {
  declare readonly name: 'PermissionError';
  declare readonly code: 'permission_denied';

  static {
    brand(this, 'PermissionError', 'permission_denied');
  }
}

/** 404: there is no such transaction, or no such address. Check the reference and `baseUrl`. */
export class NotFoundError extends APIError {
  declare readonly name: 'NotFoundError';
  declare readonly code: 'not_found';

  static {
    brand(this, 'NotFoundError', 'not_found');
  }
}

/** 409: the request contradicts what the service holds. Read `serviceMessage` before you call again. */
export class ConflictError extends APIError {
  declare readonly name: 'ConflictError';
  declare readonly code: 'conflict';

  static {
    brand(this, 'ConflictError', 'conflict');
  }
}

/** 429: too many requests. Call again after `retryAfter` milliseconds, if the service gave it. */
export class RateLimitError extends APIError {
  declare readonly name: 'RateLimitError';
  declare readonly code: 'rate_limited';

  static {
    brand(this, 'RateLimitError', 'rate_limited');
  }
}

/**
 * 5xx: the service failed. It is the error of a read, which can be made again. On a POST it is the `cause` of an
 * {@link OutcomeUnknownError}: a charge might exist.
 */
export class ServerError extends APIError {
  declare readonly name: 'ServerError';
  declare readonly code: 'server_error';

  static {
    brand(this, 'ServerError', 'server_error');
  }
}

/** Returns the class for an HTTP status code. */
export function pickErrorClass(status: number): typeof APIError {
  if (status >= 500) return ServerError;
  switch (status) {
    case 400:
    case 422:
      return InvalidRequestError;
    case 401:
      return AuthenticationError;
    case 403:
      return PermissionError;
    case 404:
      return NotFoundError;
    case 409:
      return ConflictError;
    case 429:
      return RateLimitError;
    default:
      return APIError;
  }
}

/**
 * The response is not one that the service documents: a redirect, a body that cannot be read, a field that is missing or
 * wrong. It is the error of a read, which says nothing about the payment. On a POST it is the `cause` of an
 * {@link OutcomeUnknownError}: a charge might exist.
 */
export class UnexpectedResponseError extends PaymentsError {
  declare readonly name: 'UnexpectedResponseError';
  declare readonly code: 'unexpected_response';
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text. It is shortened, and API key, phone numbers and emails are redacted. If it
   * is long, only its start is printed.
   */
  readonly body: unknown;

  constructor(message: string, facts: ErrorFacts & { status: number; body: unknown }) {
    super(message, facts);
    this.status = facts.status;
    defineBody(this, facts.body);
  }

  static {
    brand(this, 'UnexpectedResponseError', 'unexpected_response');
    truncateBodyOnInspect(this);
  }
}

const MAX_PRINTED_BODY_CHARS = 500;

/**
 * Sets `body`. A long body is behind a getter, so that Node prints `body: [Getter]` for an uncaught error and the rest of
 * the error stays readable. The property, `toJSON` and structured logs still give the whole body.
 */
function defineBody(error: object, body: unknown): void {
  const shared = { enumerable: true, configurable: true };
  Object.defineProperty(
    error,
    'body',
    isLong(body) ? { ...shared, get: () => body } : { ...shared, value: body },
  );
}

/** Makes `console.log` and `util.inspect` show the start of a long body only. */
function truncateBodyOnInspect(errorClass: { prototype: PaymentsError & { readonly body: unknown } }): void {
  const inspect = function (this: PaymentsError & { readonly body: unknown }) {
    const { body, stack } = this;
    // Node inspects the returned object with the options that it was given.
    if (!isLong(body)) return this;
    const text = bodyToText(body);
    return Object.create(Object.getPrototypeOf(this), {
      ...Object.getOwnPropertyDescriptors(this),
      // Some runtimes give the stack to the error itself only.
      stack: { value: stack, configurable: true, writable: true },
      body: {
        value: `${text.slice(0, MAX_PRINTED_BODY_CHARS - 50)}… (${text.length} characters)`,
        enumerable: true,
      },
    });
  };
  Object.defineProperty(errorClass.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: inspect });
}

function isLong(body: unknown): boolean {
  return bodyToText(body).length > MAX_PRINTED_BODY_CHARS;
}

function bodyToText(body: unknown): string {
  return typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
}

// A transaction might exist, or is another one than expected.

/**
 * A POST might have reached the service, and no response proves its result. **A charge might exist.** Do not charge again
 * and do not cancel the order: find out first. `cause` is what went wrong, such as the reason of an abort.
 * With an `idempotencyKey`, record what you found: `payments.resolve(key, { reference }, { by, reason })` or
 * `payments.resolve(key, 'not_charged', { by, reason })`.
 */
export class OutcomeUnknownError extends PaymentsError {
  declare readonly name: 'OutcomeUnknownError';
  declare readonly code: 'outcome_unknown';
  readonly #reference: string | undefined;
  /** The key of the call, if it had one: resolve it. As it was given, with phone numbers and emails redacted. */
  readonly idempotencyKey: string | undefined;

  /** `shown` is the reference as it can be printed. */
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
    defineReference(this, reference, shown);
    this.idempotencyKey = idempotencyKey;
  }

  /** The transaction's reference, if the response named one although it cannot be used: verify it. */
  get reference(): string | undefined {
    return this.#reference;
  }

  static {
    brand(this, 'OutcomeUnknownError', 'outcome_unknown');
  }
}

/** Returns what to do about an unresolved key. */
export function describeResolution(
  operation: OperationName,
  idempotencyKey: string,
  reference: string | undefined,
): string {
  const find = reference ? `Verify ${reference}` : 'Find it';
  const found = operation === 'initialize' ? '{ reference, checkout_url }' : '{ reference }';
  return `${find}, then payments.resolve(${quoteKey(idempotencyKey)}, ${found} or 'not_charged', …).`;
}

/** A key with a UUID in it is shown whole: people copy it, and search for it. */
const MAX_QUOTED_KEY_CHARS = 80;

/** Returns a key as a message shows it. A longer one would leave no room for what to do. */
export function quoteKey(idempotencyKey: string): string {
  const characters = [...idempotencyKey];
  if (characters.length <= MAX_QUOTED_KEY_CHARS) return JSON.stringify(idempotencyKey);
  return JSON.stringify(`${characters.slice(0, MAX_QUOTED_KEY_CHARS - 1).join('')}…`);
}

/** Any result that names a transaction. */
export type AnyTransaction = Transaction | InitializedPayment | MobileMoneyCharge;

/**
 * The service returned a transaction with another reference, amount or currency than expected. The transaction exists:
 * do not fulfil the order, and do not charge again. Compare `transaction` with the order. The client never retries it.
 */
export class TransactionMismatchError extends PaymentsError {
  declare readonly name: 'TransactionMismatchError';
  declare readonly code: 'transaction_mismatch';
  /** What differs. A secret in a reference is redacted. */
  readonly mismatches: readonly Mismatch[];
  readonly #transaction: AnyTransaction;

  constructor(
    transaction: AnyTransaction,
    mismatches: readonly Mismatch[],
    facts: ErrorFacts & {
      operation: OperationName;
      outcome: Outcome | null;
      redact?: { id(text: string): string };
    },
  ) {
    const redactId = facts.redact?.id ?? redactReference;
    const shown = redactId(transaction.reference);
    const shownMismatches = mismatches.map((mismatch) =>
      mismatch.field === 'reference'
        ? { ...mismatch, expected: redactId(mismatch.expected), actual: redactId(mismatch.actual) }
        : mismatch,
    );
    const list = shownMismatches.map(
      ({ field, expected, actual }) => `${field} is ${actual}, not ${expected}`,
    );
    super(`Transaction ${shown}: ${list.join('; ')}. Do not fulfil the order on it.`, facts);
    this.mismatches = shownMismatches;
    this.#transaction = transaction;
    defineReference(this, transaction.reference, shown);
  }

  /** The reference of the transaction that was returned. */
  get reference(): string {
    return this.#transaction.reference;
  }

  /** The transaction that was returned. It is not printed with the error. */
  get transaction(): AnyTransaction {
    return this.#transaction;
  }

  static {
    brand(this, 'TransactionMismatchError', 'transaction_mismatch');
  }
}

// A wait ended without a final status.

export interface WaitFacts {
  reference: string;
  /** The reference as it can be printed. */
  shown?: string | undefined;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  attempts: number;
  elapsed: number;
  startedAt: number;
}

/**
 * The deadline of a wait passed, and no check returned a final status. **It does not mean that the payment failed**: the
 * customer might still approve it. Do not cancel the order and do not charge again. Check `reference` again later.
 *
 * At least one check was made before it, even if the deadline had passed when the wait started. Only the client's own
 * limits can prevent that check (a full queue, the pause after a 429): `attempts` is 0 then.
 *
 * @example
 * ```ts
 * if (error instanceof WaitTimeoutError) await checkLater(error.reference, error.startedAt);
 * ```
 */
export class WaitTimeoutError extends PaymentsError {
  declare readonly name: 'WaitTimeoutError';
  declare readonly code: 'wait_timeout';
  /** The last status, as the service wrote it if that is a plain word. `undefined` if no check returned one. */
  readonly lastStatus: string | undefined;
  /** How many checks were made. */
  readonly attempts: number;
  /** Milliseconds since `startedAt`. */
  readonly elapsed: number;
  /** When the wait started, or the charge was made, in milliseconds since 1970. Pass it on to continue the wait. */
  readonly startedAt: number;
  readonly #reference: string;
  readonly #lastTransaction: Transaction | undefined;
  readonly #lastError: PaymentsError | undefined;

  constructor(facts: WaitFacts) {
    const { reference, lastTransaction, lastError, attempts, elapsed, startedAt } = facts;
    const shown = facts.shown ?? redactReference(reference);
    const status = lastTransaction && getPrintableStatus(lastTransaction);
    super(
      `${shown} has no final status after ${Math.round(elapsed / 1000)} s: ${describeChecks(status, attempts)}` +
        `${lastError ? `, last error ${lastError.code}` : ''}. It might still be paid: do not cancel the order and do not ` +
        'charge again. Check again later.',
      { operation: 'verify', retryable: true, cause: lastError },
    );
    this.lastStatus = status;
    this.attempts = attempts;
    this.elapsed = elapsed;
    this.startedAt = startedAt;
    this.#lastTransaction = lastTransaction;
    this.#reference = reference;
    this.#lastError = lastError;
    defineReference(this, reference, shown);
  }

  /** The reference that was waited for. */
  get reference(): string {
    return this.#reference;
  }

  /** The transaction as it was last read. It is not printed with the error. */
  get lastTransaction(): Transaction | undefined {
    return this.#lastTransaction;
  }

  /** Why the last poll failed, if it did. It is the `cause` too. */
  get lastError(): PaymentsError | undefined {
    return this.#lastError;
  }

  static {
    brand(this, 'WaitTimeoutError', 'wait_timeout');
  }
}

function describeChecks(status: string | undefined, attempts: number): string {
  if (attempts === 0) return 'no check could be sent';
  const checks = attempts === 1 ? '1 check' : `${attempts} checks`;
  return status === undefined ? `no status in ${checks}` : `${JSON.stringify(status)} after ${checks}`;
}

/**
 * Sets `reference` as an own property, which is printed. A reference with a secret in it stays behind the getter of the
 * class: it can be read, and is not printed.
 */
function defineReference(
  error: PaymentsError,
  reference: string | undefined,
  shown = reference === undefined ? reference : redactReference(reference),
) {
  if (shown !== reference) return;
  Object.defineProperty(error, 'reference', { value: reference, enumerable: true, configurable: true });
}

// The journal prevented the call.

/**
 * The idempotency key was used before with other input, and a charge of that call might exist: `outcome` is `unknown`.
 * This call sent nothing. Use one key for each thing that is paid for. To resolve an unresolved key, call
 * `payments.resolve`.
 */
export class IdempotencyConflictError extends PaymentsError {
  declare readonly name: 'IdempotencyConflictError';
  declare readonly code: 'idempotency_conflict';

  /** The key of the call, as it was given, with phone numbers and emails redacted. */
  readonly idempotencyKey: string;

  constructor(message: string, facts: { operation: OperationName; idempotencyKey: string }) {
    super(message, { operation: facts.operation, outcome: 'unknown' });
    this.idempotencyKey = facts.idempotencyKey;
  }

  static {
    brand(this, 'IdempotencyConflictError', 'idempotency_conflict');
  }
}

/**
 * The journal could not be read or written, or refused the operation. **Nothing was sent.** If `retryable`, make the
 * same call again. `cause` is the error of the database. `outcome` is `not_sent`. It is `unknown` if there is a record
 * that cannot be read, because it might be that of a charge. A call with an `idempotencyKey` then fails with
 * {@link OutcomeUnknownError}.
 */
export class JournalError extends PaymentsError {
  declare readonly name: 'JournalError';
  declare readonly code: 'journal_error';

  constructor(
    message: string,
    facts: Omit<ErrorFacts, 'outcome'> & { outcome?: 'not_sent' | 'unknown' } = {},
  ) {
    super(message, { ...facts, outcome: facts.outcome ?? 'not_sent' });
  }

  static {
    brand(this, 'JournalError', 'journal_error');
  }
}
