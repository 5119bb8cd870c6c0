import type { OperationName } from './contract/operation.ts';
import { safeFieldName, shownReference } from './redact.ts';

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
export function brand(errorClass: { prototype: PaymentsError }, name: string, code?: PaymentsErrorCode) {
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
export function showReference(
  error: PaymentsError,
  reference: string | undefined,
  shown = reference === undefined ? reference : shownReference(reference),
) {
  if (shown !== reference) return;
  Object.defineProperty(error, 'reference', { value: reference, enumerable: true, configurable: true });
}

const LONGEST_PRINTED_BODY = 500;

/**
 * The property `body` of an error. A long one is behind a getter: `node` then prints `body: [Getter]` for an uncaught error,
 * and the rest of it can be read. Whoever reads the property gets it whole; so do `toJSON` and structured logs.
 */
export function bodyProperty(body: unknown): PropertyDescriptor {
  const shared = { enumerable: true, configurable: true };
  return isLong(body) ? { ...shared, get: () => body } : { ...shared, value: body };
}

/** Shows the start of a long body where an error is inspected, as by `console.log`. */
export function cutBodyWhenInspected(errorClass: { prototype: PaymentsError & { readonly body: unknown } }) {
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
      .map(({ path, message }) => (path ? `${safeFieldName(path)} ${message}` : message))
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
