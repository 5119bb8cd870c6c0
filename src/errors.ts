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
import { redactFieldName, redactReference } from './support/redact.ts';
import { isObject, parseJson } from './support/untrusted.ts';

/**
 * What might have happened to the money when a call failed.
 *
 * - `not_sent`: nothing left this process, or no connection was made. No charge exists from this call. An earlier call
 *   under the same `idempotencyKey` might have charged.
 * - `rejected`: the service refused the request. It is an assumption that no charge exists from this call
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

/**
 * What to do after an error: the one thing to switch on.
 *
 * - `retry`: the same call with the same key can succeed, now or after `retryAfter`. No charge exists from this call.
 * - `correct`: the input or a setting must change first. No charge exists from this call.
 * - `review`: a charge might exist, or is not as it must be. Do not charge again and do not fulfil: a person decides.
 * - `check`: the error says nothing about the payment. Leave the order as it is, and check the payment later.
 */
export type NextStep = 'retry' | 'correct' | 'review' | 'check';

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

/** As literals, because a minifier renames the classes. */
const CLASS_NAMES: Readonly<Record<PaymentsErrorCode, string>> = {
  api_error: 'APIError',
  authentication_error: 'AuthenticationError',
  closed: 'ClosedError',
  configuration_error: 'ConfigurationError',
  conflict: 'ConflictError',
  connection_error: 'ConnectionError',
  idempotency_conflict: 'IdempotencyConflictError',
  invalid_input: 'InvalidInputError',
  invalid_request: 'InvalidRequestError',
  journal_error: 'JournalError',
  not_found: 'NotFoundError',
  outcome_unknown: 'OutcomeUnknownError',
  permission_denied: 'PermissionError',
  rate_limited: 'RateLimitError',
  request_timeout: 'RequestTimeoutError',
  server_error: 'ServerError',
  transaction_mismatch: 'TransactionMismatchError',
  unexpected_response: 'UnexpectedResponseError',
  wait_timeout: 'WaitTimeoutError',
};

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
 *   await payments.verify('TXN-8F2K1');
 * } catch (error) {
 *   if (!isPaymentsError(error)) throw error;
 *   console.error(error.code, error.nextStep, error.requestId);
 * }
 * ```
 */
export abstract class PaymentsError extends Error {
  /** One for each class. It is the first own property, so that an uncaught error and a structured log show it. */
  readonly code: PaymentsErrorCode;
  /** What to do: `retry` the call, `correct` input or setting, let a person `review` the charge, or `check` the payment later. */
  readonly nextStep: NextStep;
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
    this.code = new.target.code;
    const name = CLASS_NAMES[this.code] ?? 'PaymentsError';
    // On the error itself: set on the classes at load, they would keep every class in a bundle that uses none. The stack
    // begins with the name, which a merchant's subclass can set on its prototype.
    if (this.name === 'Error') define(this, 'name', name);
    define(this, brandOf('PaymentsError'), true);
    define(this, brandOf(name), true);
    this.nextStep = pickNextStep(this.code, outcome, retryable);
    this.operation = operation;
    this.outcome = outcome;
    this.retryable = retryable;
    if (requestId !== undefined) this.requestId = requestId;
  }

  /** The `code` of the errors of this class. */
  declare static readonly code: PaymentsErrorCode;

  /** Also holds for the same class of the other module system. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    const name = nameOf(this);
    return name !== undefined && isObject(value) && brandOf(name) in value;
  }

  /** Returns the error and its causes as plain JSON: what `JSON.stringify` and a structured log show. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, cause } = this;
    const own = Object.entries(this).filter(([, value]) => value !== undefined);
    const inner = cause === undefined ? {} : { cause: causeToJSON(cause) };
    const body = 'body' in this ? { body: this.body } : {};
    return { name, code, message, ...Object.fromEntries(own), ...inner, ...body };
  }
}

/**
 * Whether a caught value is an error of this package, also of the other module system. It narrows by `code`, `outcome` and
 * `nextStep`: with the code `rate_limited` there is `retryAfter`.
 */
export function isPaymentsError(error: unknown): error is AnyPaymentsError {
  return error instanceof PaymentsError;
}

function pickNextStep(code: PaymentsErrorCode, outcome: Outcome | null, retryable: boolean): NextStep {
  // An earlier call under the key decides: it might have been paid.
  if (code === 'idempotency_conflict') return 'check';
  if (code === 'transaction_mismatch' || outcome === 'unknown') return 'review';
  if (outcome !== null) return retryable || code === 'closed' ? 'retry' : 'correct';
  return !retryable && CORRECTABLE_READS.has(code) ? 'correct' : 'check';
}

const CORRECTABLE_READS: ReadonlySet<PaymentsErrorCode> = new Set([
  'authentication_error',
  'configuration_error',
  'invalid_input',
  'invalid_request',
  'not_found',
  'permission_denied',
]);

/** One application can load a class twice: the brand is the same in the ES module and in CommonJS. */
const brandOf = (className: string) => Symbol.for(`payment-collection-client/${className}`);

/** Returns the name of a class of this package. A merchant's subclass has none. */
function nameOf(errorClass: object): string | undefined {
  if (errorClass === PaymentsError) return 'PaymentsError';
  const code: unknown = Object.hasOwn(errorClass, 'code') && Reflect.get(errorClass, 'code');
  return typeof code === 'string' && isErrorCode(code) ? CLASS_NAMES[code] : undefined;
}

const isErrorCode = (code: string): code is PaymentsErrorCode => Object.hasOwn(CLASS_NAMES, code);

/** Sets a property that is not printed. */
function define(error: PaymentsError, key: PropertyKey, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true });
}

const MAX_JSON_CAUSES = 8;

/** The reason of an abort can be any value, even one that JSON cannot write. */
function causeToJSON(cause: unknown, depth = 0): unknown {
  if (cause instanceof PaymentsError) return cause.toJSON();
  if (cause instanceof Error) {
    const hasCause = cause.cause !== undefined && depth < MAX_JSON_CAUSES;
    const inner = hasCause ? { cause: causeToJSON(cause.cause, depth + 1) } : {};
    return { name: cause.name, message: cause.message, ...inner };
  }
  try {
    return parseJson(JSON.stringify(cause));
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
  static override readonly code: PaymentsErrorCode = 'configuration_error';
  declare readonly outcome: 'not_sent' | null;
  declare readonly nextStep: 'retry' | 'correct' | 'check';

  constructor(message: string, facts: Omit<ErrorFacts, 'outcome'> = {}) {
    super(message, { ...facts, outcome: outcomeIfNotSent(facts.operation) });
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
  static override readonly code: PaymentsErrorCode = 'invalid_input';
  declare readonly outcome: 'not_sent' | null;
  declare readonly nextStep: 'correct';
  readonly issues: readonly InputIssue[];

  constructor(issues: readonly InputIssue[], operation?: OperationName) {
    const list = issues
      .map(({ path, message }) => (path ? `${redactFieldName(path)} ${message}` : message))
      .join('; ');
    super(`Invalid input, nothing was sent: ${list}.`, { operation, outcome: outcomeIfNotSent(operation) });
    this.issues = issues;
  }
}

/**
 * The client is closed: it ended the wait, or did not start the call. The call sent nothing, and a wait says nothing
 * about the payment. Make a new client, and check the transaction again. `outcome` is `not_sent`, or `null` for a read.
 */
export class ClosedError extends PaymentsError {
  declare readonly name: 'ClosedError';
  declare readonly code: 'closed';
  static override readonly code: PaymentsErrorCode = 'closed';
  declare readonly outcome: 'not_sent' | null;
  declare readonly nextStep: 'retry' | 'check';

  constructor(operation?: OperationName) {
    super('The client is closed.', { operation, outcome: outcomeIfNotSent(operation) });
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
  static override readonly code: PaymentsErrorCode = 'connection_error';
}

/**
 * No whole response came within `timeout`. It is the error of a read, which can be made again. On a POST it is the
 * `cause` of an {@link OutcomeUnknownError}: a charge might exist.
 */
export class RequestTimeoutError extends PaymentsError {
  declare readonly name: 'RequestTimeoutError';
  declare readonly code: 'request_timeout';
  static override readonly code: PaymentsErrorCode = 'request_timeout';
  declare readonly outcome: 'unknown' | null;
  declare readonly nextStep: 'review' | 'check';
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
  static override readonly code: PaymentsErrorCode = 'api_error';
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text. It is shortened, and API key, phone numbers and emails are redacted. A long
   * one is not printed with the error. `toJSON` has it.
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
    define(this, brandOf('APIError'), true);
    this.status = facts.status;
    defineBody(this, facts.body);
    this.serviceMessage = facts.serviceMessage;
    this.fieldErrors = facts.fieldErrors;
    this.retryAfter = facts.retryAfter;
  }
}

/** 400 or 422: the service refused the input. Correct it. */
export class InvalidRequestError extends APIError {
  declare readonly name: 'InvalidRequestError';
  declare readonly code: 'invalid_request';
  static override readonly code: PaymentsErrorCode = 'invalid_request';
}

/** 401: the API key is missing, wrong or revoked. Check the key. */
export class AuthenticationError extends APIError {
  declare readonly name: 'AuthenticationError';
  declare readonly code: 'authentication_error';
  static override readonly code: PaymentsErrorCode = 'authentication_error';
}

/** 403: the API key does not allow this. Check its mode: charging Mobile Money needs a live key. */
export class PermissionError extends APIError {
  declare readonly name: 'PermissionError';
  declare readonly code: 'permission_denied';
  static override readonly code: PaymentsErrorCode = 'permission_denied';
}

/** 404: there is no such transaction, or no such address. Check the reference and `baseUrl`. */
export class NotFoundError extends APIError {
  declare readonly name: 'NotFoundError';
  declare readonly code: 'not_found';
  static override readonly code: PaymentsErrorCode = 'not_found';
}

/** 409: the request contradicts what the service holds. Read `serviceMessage` before you call again. */
export class ConflictError extends APIError {
  declare readonly name: 'ConflictError';
  declare readonly code: 'conflict';
  static override readonly code: PaymentsErrorCode = 'conflict';
}

/** 429: too many requests. Call again after `retryAfter` milliseconds, if the service gave it. */
export class RateLimitError extends APIError {
  declare readonly name: 'RateLimitError';
  declare readonly code: 'rate_limited';
  static override readonly code: PaymentsErrorCode = 'rate_limited';
}

/**
 * 5xx: the service failed. It is the error of a read, which can be made again. On a POST it is the `cause` of an
 * {@link OutcomeUnknownError}: a charge might exist.
 */
export class ServerError extends APIError {
  declare readonly name: 'ServerError';
  declare readonly code: 'server_error';
  static override readonly code: PaymentsErrorCode = 'server_error';
  declare readonly outcome: 'unknown' | null;
  declare readonly nextStep: 'review' | 'check';
}

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
  static override readonly code: PaymentsErrorCode = 'unexpected_response';
  declare readonly outcome: 'unknown' | null;
  declare readonly nextStep: 'review' | 'check';
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text. It is shortened, and API key, phone numbers and emails are redacted. A long
   * one is not printed with the error. `toJSON` has it.
   */
  readonly body: unknown;

  constructor(message: string, facts: ErrorFacts & { status: number; body: unknown }) {
    super(message, facts);
    this.status = facts.status;
    defineBody(this, facts.body);
  }
}

const MAX_PRINTED_BODY_CHARS = 500;

/**
 * Sets `body`. A long one is not enumerable, so that a printed error stays readable: its message quotes the service's own.
 * The property and `toJSON` give the whole body.
 */
function defineBody(error: object, body: unknown): void {
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  Object.defineProperty(error, 'body', {
    value: body,
    enumerable: text.length <= MAX_PRINTED_BODY_CHARS,
    configurable: true,
  });
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
  static override readonly code: PaymentsErrorCode = 'outcome_unknown';
  declare readonly outcome: 'unknown';
  declare readonly nextStep: 'review';
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
}

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

/** More than any reference that the client accepts. */
const MAX_SHOWN_REFERENCE_CHARS = 255;

/** Any result that names a transaction. */
export type AnyTransaction = Transaction | InitializedPayment | MobileMoneyCharge;

/**
 * The service returned a transaction with another reference, amount or currency than expected. The transaction exists:
 * do not fulfil the order, and do not charge again. Compare `transaction` with the order. The client never retries it.
 */
export class TransactionMismatchError extends PaymentsError {
  declare readonly name: 'TransactionMismatchError';
  declare readonly code: 'transaction_mismatch';
  static override readonly code: PaymentsErrorCode = 'transaction_mismatch';
  declare readonly nextStep: 'review';
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
    const shownMismatches = mismatches.map(({ field, expected, actual }) => ({
      field,
      expected: redactId(expected),
      actual: redactId(actual).slice(0, MAX_SHOWN_REFERENCE_CHARS),
    }));
    const list = shownMismatches.map(({ field, expected, actual }) =>
      field === 'checkout_url'
        ? `checkout_url leads to ${actual || 'no transaction'}, not to ${expected}`
        : `${field} is ${actual}, not ${expected}`,
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
 */
export class WaitTimeoutError extends PaymentsError {
  declare readonly name: 'WaitTimeoutError';
  declare readonly code: 'wait_timeout';
  static override readonly code: PaymentsErrorCode = 'wait_timeout';
  declare readonly outcome: null;
  declare readonly nextStep: 'check';
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
  static override readonly code: PaymentsErrorCode = 'idempotency_conflict';
  declare readonly outcome: 'unknown';
  declare readonly nextStep: 'check';

  /** The key of the call, as it was given, with phone numbers and emails redacted. */
  readonly idempotencyKey: string;

  constructor(message: string, facts: { operation: OperationName; idempotencyKey: string }) {
    super(message, { operation: facts.operation, outcome: 'unknown' });
    this.idempotencyKey = facts.idempotencyKey;
  }
}

/**
 * The journal could not be read or written, or refused the operation. `cause` is the error of the database. `outcome` is
 * `not_sent`: nothing was sent, and if `retryable`, make the same call again. It is `unknown` if a record cannot be read,
 * because it might be that of a charge. A call with an `idempotencyKey` fails with {@link OutcomeUnknownError} then.
 */
export class JournalError extends PaymentsError {
  declare readonly name: 'JournalError';
  declare readonly code: 'journal_error';
  static override readonly code: PaymentsErrorCode = 'journal_error';
  declare readonly outcome: 'not_sent' | 'unknown';
  declare readonly nextStep: 'retry' | 'correct' | 'review';

  constructor(
    message: string,
    facts: Omit<ErrorFacts, 'outcome'> & { outcome?: 'not_sent' | 'unknown' } = {},
  ) {
    super(message, { ...facts, outcome: facts.outcome ?? 'not_sent' });
  }
}

/** Every error that a call of the client can reject with, told apart by `code`. {@link isPaymentsError} narrows to it. */
export type AnyPaymentsError =
  // The class of its subclasses too: only by its own code is it told apart from theirs.
  | (APIError & { readonly code: 'api_error' })
  | AuthenticationError
  | ClosedError
  | ConfigurationError
  | ConflictError
  | ConnectionError
  | IdempotencyConflictError
  | InvalidInputError
  | InvalidRequestError
  | JournalError
  | NotFoundError
  | OutcomeUnknownError
  | PermissionError
  | RateLimitError
  | RequestTimeoutError
  | ServerError
  | TransactionMismatchError
  | UnexpectedResponseError
  | WaitTimeoutError;
