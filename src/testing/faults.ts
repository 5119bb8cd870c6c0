import type { OperationName } from '../api/operations.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { isObject } from '../untrusted.ts';
import { MAX_DELAY_MS } from './ledger.ts';

/**
 * Responds with a status code: an error, a redirect, or a bare 2xx. The client throws the class for that code
 * (`ServerError`, `NotFoundError`, …). For a POST, a 5xx, a 408 or a 3xx is an `OutcomeUnknownError`.
 *
 * @example { kind: 'status', status: 502, body: 'html' }
 */
export interface StatusFault {
  readonly kind: 'status';
  /** 200 to 599. */
  readonly status: number;
  /**
   * `json`: an error in this mock's own shape, because the service documents none. `html`: the page of a gateway.
   * `empty`: no body. An object is sent as JSON, unchanged.
   *
   * @default 'json'
   */
  readonly body?: 'json' | 'html' | 'empty' | Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the service acts before this response: a gateway can send a 502 after the charge was accepted. Do not set
   * it for a 4xx other than 408, because such a response says that nothing was charged.
   *
   * @default false
   */
  readonly accepted?: boolean;
}

/** Responds with 429 and Retry-After: a `RateLimitError` with `retryAfter`. The service does not act. */
export interface RateLimitedFault {
  readonly kind: 'rateLimited';
  /** In milliseconds. The header has whole seconds, rounded up. @default 1000 */
  readonly retryAfter?: number;
}

/**
 * Breaks the connection before the service acts: `ConnectionError` on a verify. On a POST it is an
 * `OutcomeUnknownError`, because the client cannot distinguish it from `responseLost`.
 */
export interface ResetFault {
  readonly kind: 'reset';
}

/** Breaks the connection after the service acted, so that a charge exists: `OutcomeUnknownError`. */
export interface ResponseLostFault {
  readonly kind: 'responseLost';
}

/**
 * Never responds: `RequestTimeoutError` after the client's `timeout`. On a POST that is the `cause` of an
 * `OutcomeUnknownError`.
 */
export interface HangFault {
  readonly kind: 'hang';
  /** Whether the service acts anyway. @default false */
  readonly accepted?: boolean;
}

/** The service acts and sends its response one byte at a time. After the client's `timeout` the error is that of `hang`. */
export interface SlowBodyFault {
  readonly kind: 'slowBody';
  /** Between two bytes, in milliseconds on the test's clock. @default 100 */
  readonly interval?: number;
}

/**
 * The service acts, and the JSON of its response ends in the middle: `UnexpectedResponseError`. On a POST that is the
 * `cause` of an `OutcomeUnknownError`.
 */
export interface TruncatedFault {
  readonly kind: 'truncated';
}

/**
 * The service acts and responds with another amount: `TransactionMismatchError`. A verify notices it only if `expect`
 * is given.
 */
export interface WrongAmountFault {
  readonly kind: 'wrongAmount';
  /** Decimal text, such as `'2.55'`. */
  readonly amount: string;
}

/** The service acts and responds with another currency: the same errors as `wrongAmount`. */
export interface WrongCurrencyFault {
  readonly kind: 'wrongCurrency';
  readonly currency: string;
}

/**
 * The service acts and responds with another reference: `TransactionMismatchError` on a verify. On a POST the client
 * cannot notice it, unless the text is not a reference. A verify of that reference then finds nothing.
 */
export interface WrongReferenceFault {
  readonly kind: 'wrongReference';
  readonly reference: string;
}

/** The service acts and responds with an undocumented status. The client reads it as `unrecognised`, never final. */
export interface UnrecognisedStatusFault {
  readonly kind: 'unrecognisedStatus';
  /** @default 'reversed' */
  readonly status?: string;
}

/** The service works, but the customer approves late, perhaps after the merchant's wait has ended. */
export interface LateApprovalFault {
  readonly kind: 'lateApproval';
  /** From creation to approval, in milliseconds on the test's clock. */
  readonly after: number;
}

/** @inline */
type ResponseFault =
  | StatusFault
  | RateLimitedFault
  | ResetFault
  | ResponseLostFault
  | HangFault
  | SlowBodyFault
  | TruncatedFault
  | WrongAmountFault
  | WrongCurrencyFault
  | WrongReferenceFault;

/** The faults of each operation. */
export interface Faults {
  initialize: ResponseFault | LateApprovalFault;
  chargeMobileMoney: ResponseFault | UnrecognisedStatusFault | LateApprovalFault;
  verify: ResponseFault | UnrecognisedStatusFault;
}

/** Any fault, discriminated by `kind`. */
export type Fault = Faults[OperationName];

const responseKinds = [
  'status',
  'rateLimited',
  'reset',
  'responseLost',
  'hang',
  'slowBody',
  'truncated',
  'wrongAmount',
  'wrongCurrency',
  'wrongReference',
] as const;

const kindsByOperation: { readonly [Name in OperationName]: readonly Faults[Name]['kind'][] } = {
  initialize: [...responseKinds, 'lateApproval'],
  chargeMobileMoney: [...responseKinds, 'unrecognisedStatus', 'lateApproval'],
  verify: [...responseKinds, 'unrecognisedStatus'],
};

/**
 * Refuses an impossible fault on the line of the test that orders it. A test in JavaScript has no types.
 *
 * @throws {TypeError} if the operation, the kind, a text or a header is not valid
 * @throws {RangeError} if a number is out of its range
 */
export function validateFault(operation: OperationName, fault: Fault): void {
  if (!Object.hasOwn(kindsByOperation, operation)) {
    const known = Object.keys(kindsByOperation).join(', ');
    throw new TypeError(`Unknown operation ${operation}. Known: ${known}.`);
  }
  const known: readonly string[] = kindsByOperation[operation];
  if (!known.includes(fault.kind)) {
    throw new TypeError(`Unknown fault ${fault.kind} for ${operation}. Known: ${known.join(', ')}.`);
  }
  switch (fault.kind) {
    case 'status':
      validateNumber('status', fault.status, 200, 599);
      if (!Number.isInteger(fault.status)) throw new RangeError('status must be a whole number.');
      if (!isStatusBody(fault.body)) throw new TypeError('body must be json, html, empty or an object.');
      // Both throw for a value that fetch would refuse later.
      new Headers(fault.headers);
      JSON.stringify(fault.body);
      break;
    case 'rateLimited':
      validateNumber('retryAfter', fault.retryAfter ?? 0, 0, MAX_DELAY_MS);
      break;
    case 'slowBody':
      validateNumber('interval', fault.interval ?? 0, 0, MAX_TIMEOUT_MS);
      break;
    case 'lateApproval':
      validateNumber('after', fault.after, 0, MAX_DELAY_MS);
      break;
    case 'wrongAmount':
      validateText('amount', fault.amount);
      break;
    case 'wrongCurrency':
      validateText('currency', fault.currency);
      break;
    case 'wrongReference':
      validateText('reference', fault.reference);
      break;
    case 'unrecognisedStatus':
      validateText('status', fault.status ?? '');
      break;
  }
}

function isStatusBody(body: unknown): boolean {
  const isKeyword = body === undefined || body === 'json' || body === 'html' || body === 'empty';
  return isKeyword || isObject(body);
}

function validateNumber(name: string, value: unknown, min: number, max: number): void {
  if (typeof value === 'number' && value >= min && value <= max) return;
  throw new RangeError(`${name} must be a number from ${min} to ${max}, not ${String(value)}.`);
}

function validateText(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${String(value)}.`);
}
