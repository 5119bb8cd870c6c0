import type { OperationName } from './contract/operation.ts';
import { shownName } from './redact.ts';

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
}

const brands = new WeakMap<object, symbol>();

/** One application may hold a class twice, as ES module and as CommonJS: its brand is the same in both. */
export function brand(errorClass: { prototype: PaymentsError }, name: string, code?: PaymentsErrorCode) {
  const symbol = Symbol.for(`payment-collection-client/${name}`);
  brands.set(errorClass, symbol);
  Object.defineProperties(errorClass.prototype, {
    name: { value: name, configurable: true, writable: true },
    code: { value: code, configurable: true },
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
  declare readonly code: PaymentsErrorCode;
  /** The method that failed, where one was called. */
  readonly operation: OperationName | undefined;
  /** What may have happened to the money; `null` for a read, which moves none. */
  readonly outcome: Outcome | null;
  /** Whether the same call may be made again without harm, and may then succeed. */
  readonly retryable: boolean;

  constructor(message: string, { operation, outcome = null, retryable = false, cause }: ErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.operation = operation;
    this.outcome = outcome;
    this.retryable = retryable;
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

/** An option, a key or an address cannot work. Nothing was sent. The message says what to do. */
export class ConfigurationError extends PaymentsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: 'configuration_error';

  constructor(message: string, facts: Omit<ErrorFacts, 'outcome'> = {}) {
    super(message, { ...facts, outcome: 'not_sent' });
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

/** The input breaks a rule of SPEC.md, 4. Nothing was sent. `issues` names every fault at once. */
export class InvalidInputError extends PaymentsError {
  declare readonly name: 'InvalidInputError';
  declare readonly code: 'invalid_input';
  readonly issues: readonly InputIssue[];

  constructor(issues: readonly InputIssue[], operation?: OperationName) {
    const list = issues
      .map(({ path, message }) => (path ? `${shownName(path)} ${message}` : message))
      .join('; ');
    super(`Invalid input, nothing was sent: ${list}.`, { operation, outcome: 'not_sent' });
    this.issues = issues;
  }

  static {
    brand(this, 'InvalidInputError', 'invalid_input');
  }
}

/**
 * An idempotency key was used before, with other input. Nothing was sent. Use a key of its own for each thing that is
 * paid for; where the first input was refused and no charge exists, `journal.resolve(key, 'not_charged')` frees the key.
 */
export class IdempotencyConflictError extends PaymentsError {
  declare readonly name: 'IdempotencyConflictError';
  declare readonly code: 'idempotency_conflict';

  constructor(message: string, operation: OperationName) {
    super(message, { operation, outcome: 'not_sent' });
  }

  static {
    brand(this, 'IdempotencyConflictError', 'idempotency_conflict');
  }
}

/** The client was closed: the wait ended, or the call was not begun. Nothing was sent. */
export class ClosedError extends PaymentsError {
  declare readonly name: 'ClosedError';
  declare readonly code: 'closed';

  constructor(operation?: OperationName) {
    super('The client is closed.', { operation, outcome: 'not_sent' });
  }

  static {
    brand(this, 'ClosedError', 'closed');
  }
}
