import type { Mismatch, OperationName } from './api/operations.ts';
import type { InitializedPayment, MobileMoneyCharge } from './api/transaction.ts';
import { printableStatus, type Transaction } from './api/transaction.ts';
import { redactFieldName, redactReference } from './redact.ts';

/**
 * What may have happened to the money when a call failed.
 *
 * - `not_sent`: nothing left this process, or no connection was made. No charge exists from this call.
 * - `rejected`: the service answered that it refuses. No charge exists from this call.
 * - `unknown`: a charge may exist. Do not charge again before you know.
 */
export type Outcome = 'not_sent' | 'rejected' | 'unknown';

/** Every `code` that a {@link PaymentsError} can have: one for each class. */
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
  /** What may have happened to the money. @default null, for a read */
  outcome?: Outcome | null;
  /** Whether the same call may be made again without harm. @default false */
  retryable?: boolean;
  /** The error behind this one. */
  cause?: unknown;
  requestId?: string | undefined;
}

/** A read moves no money: none of its errors may be taken for "not charged". */
const notSentBy = (operation: OperationName | undefined) => (operation === 'verify' ? null : 'not_sent');

const brands = new WeakMap<object, symbol>();

/** One application may hold a class twice, as ES module and as CommonJS: its brand is the same in both. */
function brand(errorClass: { prototype: PaymentsError }, name: string, code?: PaymentsErrorCode) {
  const symbol = Symbol.for(`payment-collection-client/${name}`);
  brands.set(errorClass, symbol);
  Object.defineProperties(errorClass.prototype, {
    name: { value: name, configurable: true, writable: true },
    code: { value: code, configurable: true, writable: true },
    [symbol]: { value: true },
  });
}

/**
 * The class of every failure of this package, but for an abort: that rejects with the signal's own reason.
 *
 * No error holds the API key, and none shows a phone number or an email address when it is printed or serialised.
 *
 * @example
 * ```ts
 * try {
 *   await payments.chargeMobileMoney(input);
 * } catch (error) {
 *   if (error instanceof PaymentsError && error.outcome === 'unknown') await holdForReview(order, error);
 *   else throw error;
 * }
 * ```
 */
export abstract class PaymentsError extends Error {
  /** One for each class. An own property and the first, so that an uncaught error and a structured log show it. */
  readonly code: PaymentsErrorCode;
  /** The method that failed, where one was called. */
  readonly operation: OperationName | undefined;
  /**
   * What may have happened to the money. Always `null` for a read, which moves none: it says nothing about the payment,
   * and does not mean that nothing was charged.
   */
  readonly outcome: Outcome | null;
  /** Whether the same call may be made again without harm, and may then succeed. */
  readonly retryable: boolean;
  /**
   * The id of the request: the one that the service sent back, else the `X-Request-Id` that it was sent with. Quote it to
   * the service's support. Not there if the error is not about one request.
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

  /** Holds for the same class of the other module system too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const symbol = brands.get(this);
    if (!symbol) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && symbol in value;
  }

  /** What a log shows of it. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, cause } = this;
    return { name, code, message, ...Object.fromEntries(Object.entries(this)), cause: causeToJSON(cause) };
  }
}

/**
 * Gives an error its `reference` as an own property, which is printed. One with a secret in it stays behind the getter of the
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

const LONGEST_PRINTED_BODY = 500;

/**
 * The property `body` of an error. A long one is behind a getter: `node` then prints `body: [Getter]` for an uncaught error,
 * and the rest of it can be read. Whoever reads the property gets it whole; so do `toJSON` and structured logs.
 */
function bodyProperty(body: unknown): PropertyDescriptor {
  const shared = { enumerable: true, configurable: true };
  return isLong(body) ? { ...shared, get: () => body } : { ...shared, value: body };
}

/** Shows the start of a long body where an error is inspected, as by `console.log`. */
function cutBodyWhenInspected(errorClass: { prototype: PaymentsError & { readonly body: unknown } }) {
  const inspected = function (this: PaymentsError & { readonly body: unknown }) {
    const { body, stack } = this;
    // The inspecting function goes on with what is returned, with the options that it was given.
    if (!isLong(body)) return this;
    const text = textOf(body);
    return Object.create(Object.getPrototypeOf(this), {
      ...Object.getOwnPropertyDescriptors(this),
      // Some runtimes give the stack to the error itself only.
      stack: { value: stack, configurable: true, writable: true },
      body: {
        value: `${text.slice(0, LONGEST_PRINTED_BODY - 50)}… (${text.length} characters)`,
        enumerable: true,
      },
    });
  };
  Object.defineProperty(errorClass.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: inspected });
}

const isLong = (body: unknown) => textOf(body).length > LONGEST_PRINTED_BODY;

const textOf = (body: unknown) => (typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));

/** An abort's reason may be anything: also what JSON cannot write. */
function causeToJSON(cause: unknown, depth = 0): unknown {
  if (cause instanceof PaymentsError) return cause;
  if (cause instanceof Error) {
    const inner = depth < 8 ? { cause: causeToJSON(cause.cause, depth + 1) } : {};
    return { name: cause.name, message: cause.message, ...inner };
  }
  try {
    JSON.stringify(cause);
    return cause;
  } catch {
    return Object.prototype.toString.call(cause);
  }
}

/**
 * An option, a key or an address cannot work. Nothing was sent. The message says what to do. `outcome` is `not_sent`, or
 * `null` for a read.
 */
export class ConfigurationError extends PaymentsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: 'configuration_error';

  constructor(message: string, facts: Omit<ErrorFacts, 'outcome'> = {}) {
    super(message, { ...facts, outcome: notSentBy(facts.operation) });
  }

  static {
    brand(this, 'ConfigurationError', 'configuration_error');
  }
}

/** One fault of an input: the field, what it has to be, and a code for programs. */
export interface InputIssue {
  path: string;
  message: string;
  code: string;
}

/**
 * The input breaks a rule of SPEC.md, 4. Nothing was sent. `issues` names every fault at once. `outcome` is `not_sent`,
 * or `null` for a read.
 */
export class InvalidInputError extends PaymentsError {
  declare readonly name: 'InvalidInputError';
  declare readonly code: 'invalid_input';
  readonly issues: readonly InputIssue[];

  constructor(issues: readonly InputIssue[], operation?: OperationName) {
    const list = issues
      .map(({ path, message }) => (path ? `${redactFieldName(path)} ${message}` : message))
      .join('; ');
    super(`Invalid input, nothing was sent: ${list}.`, { operation, outcome: notSentBy(operation) });
    this.issues = issues;
  }

  static {
    brand(this, 'InvalidInputError', 'invalid_input');
  }
}

/**
 * An idempotency key was used before with other input, and a charge of that call may exist: `outcome` is `unknown`. This
 * call sent nothing. Use a key of its own for each thing that is paid for. A key whose outcome is unknown is resolved by
 * `journal.resolve(key, { reference })` or `journal.resolve(key, 'not_charged')`.
 */
export class IdempotencyConflictError extends PaymentsError {
  declare readonly name: 'IdempotencyConflictError';
  declare readonly code: 'idempotency_conflict';

  /** The key of the call, as it was given, but for a phone number or an email in it. */
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
 * The client was closed: the wait ended, or the call was not begun. Nothing was sent. `outcome` is `not_sent`, or `null`
 * for a read.
 */
export class ClosedError extends PaymentsError {
  declare readonly name: 'ClosedError';
  declare readonly code: 'closed';

  constructor(operation?: OperationName) {
    super('The client is closed.', { operation, outcome: notSentBy(operation) });
  }

  static {
    brand(this, 'ClosedError', 'closed');
  }
}

/** A fault that the service named for one field. */
export interface FieldError {
  field: string;
  message: string;
}

export interface APIErrorFacts {
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
 * The service answered with an error, or with `status: false`. SPEC.md, 7, shows no error shape and no status codes,
 * so everything about the body is best effort. A subclass stands for each status that has a name.
 */
export class APIError extends PaymentsError {
  declare readonly name: string;
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text; shortened, with key, phone numbers and emails redacted. Where a long one
   * is printed, only its start is shown.
   */
  readonly body: unknown;
  /** The service's own words, where it gave any. */
  readonly serviceMessage: string | undefined;
  /** What the service said about single fields, where it did. */
  readonly fieldErrors: readonly FieldError[];
  /** How long the service asked to wait before the next request, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, facts: APIErrorFacts) {
    super(message, facts);
    this.status = facts.status;
    Object.defineProperty(this, 'body', bodyProperty(facts.body));
    this.serviceMessage = facts.serviceMessage;
    this.fieldErrors = facts.fieldErrors;
    this.retryAfter = facts.retryAfter;
  }

  static {
    brand(this, 'APIError', 'api_error');
    cutBodyWhenInspected(this);
  }
}

/** 400 or 422: the service refuses what was asked. */
export class InvalidRequestError extends APIError {
  declare readonly name: 'InvalidRequestError';
  declare readonly code: 'invalid_request';
  static {
    brand(this, 'InvalidRequestError', 'invalid_request');
  }
}

/** 401: the API key is missing, wrong or revoked. */
export class AuthenticationError extends APIError {
  declare readonly name: 'AuthenticationError';
  declare readonly code: 'authentication_error';
  static {
    brand(this, 'AuthenticationError', 'authentication_error');
  }
}

/** 403: the API key may not do this. */
export class PermissionError extends APIError {
  declare readonly name: 'PermissionError';
  declare readonly code: 'permission_denied';
  static {
    brand(this, 'PermissionError', 'permission_denied');
  }
}

/** 404: there is no such transaction, or no such address. */
export class NotFoundError extends APIError {
  declare readonly name: 'NotFoundError';
  declare readonly code: 'not_found';
  static {
    brand(this, 'NotFoundError', 'not_found');
  }
}

/** 409: the request contradicts something that the service holds. */
export class ConflictError extends APIError {
  declare readonly name: 'ConflictError';
  declare readonly code: 'conflict';
  static {
    brand(this, 'ConflictError', 'conflict');
  }
}

/** 429: too many requests. `retryAfter` is set where the service said how long to wait. */
export class RateLimitError extends APIError {
  declare readonly name: 'RateLimitError';
  declare readonly code: 'rate_limited';
  static {
    brand(this, 'RateLimitError', 'rate_limited');
  }
}

/** 5xx on a read. On a POST it is the `cause` of an `OutcomeUnknownError`: a charge may exist. */
export class ServerError extends APIError {
  declare readonly name: 'ServerError';
  declare readonly code: 'server_error';
  static {
    brand(this, 'ServerError', 'server_error');
  }
}

/** The class for an HTTP status code. */
export function apiErrorClass(status: number): typeof APIError {
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
    defineReference(this, reference, shown);
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
    const print = redact?.id ?? redactReference;
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
    defineReference(this, reference, shown);
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

export interface WaitFacts {
  reference: string;
  /** The reference as it may be printed. */
  shown?: string | undefined;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  attempts: number;
  elapsed: number;
  startedAt: number;
}

function seenAs(status: string | undefined, attempts: number): string {
  if (attempts === 0) return 'no check could be sent';
  const checks = attempts === 1 ? '1 check' : `${attempts} checks`;
  return status === undefined ? `no status in ${checks}` : `${JSON.stringify(status)} after ${checks}`;
}

/**
 * A wait's deadline passed and the status is not final. **This is no failure of the payment**: the customer may still
 * approve it. Do not cancel the order and do not charge again. Check again later by `reference`.
 *
 * Before it at least one check was made, also if the deadline had passed when the wait began. Only the client's own limits
 * prevent that (a full queue, the pause after a 429): `attempts` is 0 then.
 *
 * @example
 * ```ts
 * if (error instanceof WaitTimeoutError) await askAgainLater(error.reference, error.startedAt);
 * ```
 */
export class WaitTimeoutError extends PaymentsError {
  declare readonly name: 'WaitTimeoutError';
  declare readonly code: 'wait_timeout';
  /** The last status, as the service wrote it if that is a plain word; `undefined` if no check was answered. */
  readonly lastStatus: string | undefined;
  /** How many checks were made. */
  readonly attempts: number;
  /** Milliseconds since `startedAt`. */
  readonly elapsed: number;
  /** When the wait began, or the charge was made, in milliseconds since 1970: pass it on to carry the wait on. */
  readonly startedAt: number;
  readonly #reference: string;
  readonly #lastTransaction: Transaction | undefined;
  readonly #lastError: PaymentsError | undefined;

  constructor({
    reference,
    shown = redactReference(reference),
    lastTransaction,
    lastError,
    attempts,
    elapsed,
    startedAt,
  }: WaitFacts) {
    const status = lastTransaction && printableStatus(lastTransaction);
    super(
      `${shown} has no final status after ${Math.round(elapsed / 1000)} s: ${seenAs(status, attempts)}` +
        `${lastError ? `, last error ${lastError.code}` : ''}. It may still be paid: do not cancel the order and do not ` +
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

  /** The transaction that was waited for. */
  get reference(): string {
    return this.#reference;
  }

  /** The transaction as it was last seen. Printing the error does not print it. */
  get lastTransaction(): Transaction | undefined {
    return this.#lastTransaction;
  }

  /** Why the last poll failed, where it did: the `cause` too. */
  get lastError(): PaymentsError | undefined {
    return this.#lastError;
  }

  static {
    brand(this, 'WaitTimeoutError', 'wait_timeout');
  }
}

/**
 * The journal could not be read or written, or refuses what was asked of it. **Nothing was sent.** Where `retryable`,
 * the same call may be made again. `cause` is what the database said. `outcome` is `not_sent`, but `unknown` where a
 * record is there that cannot be read: a charge may be what it tells of. A call with an `idempotencyKey` then fails with
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
