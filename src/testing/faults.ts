import type { OperationName } from '../api/operations.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { LONGEST_DELAY } from './ledger.ts';

/**
 * An answer with a status code: an error, a redirect, or a bare 2xx. The client's error is the class for that code
 * (`ServerError`, `NotFoundError`, …); on a POST, a 5xx, a 408 or a 3xx is an `OutcomeUnknownError`.
 *
 * @example { kind: 'status', status: 502, body: 'html' }
 */
export interface StatusFault {
  readonly kind: 'status';
  /** 200 to 599. */
  readonly status: number;
  /**
   * `json`: an error in this mock's own shape, an assumption as SPEC.md, 7, shows none. `html`: a gateway's page.
   * `empty`: nothing. An object is sent as JSON, as it is.
   *
   * @default 'json'
   */
  readonly body?: 'json' | 'html' | 'empty' | Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the service acts before it answers so: a gateway's 502 may come after the charge was accepted. Leave it
   * out for a 4xx but 408, which says that nothing was charged.
   *
   * @default false
   */
  readonly accepted?: boolean;
}

/** 429 with Retry-After: `RateLimitError`, whose `retryAfter` is set. The service does not act. */
export interface RateLimitedFault {
  readonly kind: 'rateLimited';
  /** Milliseconds; the header has whole seconds, rounded up. @default 1000 */
  readonly retryAfter?: number;
}

/**
 * The connection breaks before the service acts: `ConnectionError` on a verify; on a POST `OutcomeUnknownError`, since
 * the client cannot tell it from `responseLost`.
 */
export interface ResetFault {
  readonly kind: 'reset';
}

/** The service acts, a charge exists, and the connection breaks before its answer comes: `OutcomeUnknownError`. */
export interface ResponseLostFault {
  readonly kind: 'responseLost';
}

/** No answer ever: `RequestTimeoutError` after the client's `timeout`, on a POST within an `OutcomeUnknownError`. */
export interface HangFault {
  readonly kind: 'hang';
  /** Whether the service acts all the same. @default false */
  readonly accepted?: boolean;
}

/** The service acts, and its answer comes one byte at a time: to the client, after its `timeout`, the same as `hang`. */
export interface SlowBodyFault {
  readonly kind: 'slowBody';
  /** Between two bytes, in milliseconds, by the clock of the test. @default 100 */
  readonly interval?: number;
}

/**
 * The service acts, and the JSON of its answer ends in the middle: `UnexpectedResponseError`, on a POST within an
 * `OutcomeUnknownError`.
 */
export interface TruncatedFault {
  readonly kind: 'truncated';
}

/**
 * The service acts, and answers with another amount: `TransactionMismatchError`, on a verify only where `expect` is
 * given.
 */
export interface WrongAmountFault {
  readonly kind: 'wrongAmount';
  /** Decimal text, such as `'2.55'`. */
  readonly amount: string;
}

/** The service acts, and answers with another currency: as with `wrongAmount`. */
export interface WrongCurrencyFault {
  readonly kind: 'wrongCurrency';
  readonly currency: string;
}

/**
 * The service acts, and answers with another reference: `TransactionMismatchError` on a verify. On a POST no client
 * can notice it, unless it is no reference at all; verifying it then finds nothing.
 */
export interface WrongReferenceFault {
  readonly kind: 'wrongReference';
  readonly reference: string;
}

/** The service acts, and answers with a status that SPEC.md does not show: read as `unrecognised`, never final. */
export interface UnrecognisedStatusFault {
  readonly kind: 'unrecognisedStatus';
  /** @default 'reversed' */
  readonly status?: string;
}

/** All is well, but the customer approves late, perhaps after the merchant gave up waiting. */
export interface LateApprovalFault {
  readonly kind: 'lateApproval';
  /** From the creation to the approval, in milliseconds by the clock of the test. */
  readonly after: number;
}

/** @inline */
type AnswerFault =
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

/** The faults that each operation can have. */
export interface Faults {
  initialize: AnswerFault | LateApprovalFault;
  chargeMobileMoney: AnswerFault | UnrecognisedStatusFault | LateApprovalFault;
  verify: AnswerFault | UnrecognisedStatusFault;
}

/** Any fault, told apart by `kind`. */
export type Fault = Faults[OperationName];

const anyAnswer = [
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

const kinds: { readonly [Name in OperationName]: readonly Faults[Name]['kind'][] } = {
  initialize: [...anyAnswer, 'lateApproval'],
  chargeMobileMoney: [...anyAnswer, 'unrecognisedStatus', 'lateApproval'],
  verify: [...anyAnswer, 'unrecognisedStatus'],
};

/**
 * A test in JavaScript has no types: what is misspelt is refused where it was written, not where the request is
 * answered.
 *
 * @throws TypeError for an operation, kind, text or header that there is not, RangeError for a number that cannot be.
 */
export function checkFault(operation: OperationName, fault: Fault): void {
  if (!Object.hasOwn(kinds, operation)) {
    const known = Object.keys(kinds).join(', ');
    throw new TypeError(`There is no operation ${operation}: it is one of ${known}.`);
  }
  const known: readonly string[] = kinds[operation];
  if (!known.includes(fault.kind)) {
    throw new TypeError(`${operation} has no fault ${fault.kind}: it is one of ${known.join(', ')}.`);
  }
  switch (fault.kind) {
    case 'status':
      checkNumber('status', fault.status, 200, 599);
      if (!Number.isInteger(fault.status)) throw new RangeError('status must be a whole number.');
      if (!isBody(fault.body)) throw new TypeError('body must be json, html, empty or an object.');
      // Both throw for what fetch would not take.
      new Headers(fault.headers);
      JSON.stringify(fault.body);
      break;
    case 'rateLimited':
      checkNumber('retryAfter', fault.retryAfter ?? 0, 0, LONGEST_DELAY);
      break;
    case 'slowBody':
      checkNumber('interval', fault.interval ?? 0, 0, MAX_TIMEOUT_MS);
      break;
    case 'lateApproval':
      checkNumber('after', fault.after, 0, LONGEST_DELAY);
      break;
    case 'wrongAmount':
      checkText('amount', fault.amount);
      break;
    case 'wrongCurrency':
      checkText('currency', fault.currency);
      break;
    case 'wrongReference':
      checkText('reference', fault.reference);
      break;
    case 'unrecognisedStatus':
      checkText('status', fault.status ?? '');
      break;
  }
}

function isBody(body: unknown): boolean {
  const isWord = body === undefined || body === 'json' || body === 'html' || body === 'empty';
  return isWord || (typeof body === 'object' && body !== null);
}

function checkNumber(name: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && value >= least && value <= most) return;
  throw new RangeError(`${name} must be a number from ${least} to ${most}, not ${String(value)}.`);
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be text, not ${String(value)}.`);
}

/** A fault that is still to come. */
export interface QueuedFault {
  readonly operation: OperationName;
  readonly fault: Fault;
  remaining: number;
}

/** The faults that are still to come, first in, first out for each operation. */
export class FaultQueue {
  #scripted: QueuedFault[] = [];

  get scripted(): readonly Readonly<QueuedFault>[] {
    return this.#scripted;
  }

  add(operation: OperationName, fault: Fault, times: number): void {
    checkFault(operation, fault);
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0)))
      throw new RangeError(`times must be a whole number, 1 or more, or Infinity, not ${times}.`);
    this.#scripted.push({ operation, fault, remaining: times });
  }

  /** The fault for a request that is about to be answered; it is used up by that. */
  next(operation: OperationName): Fault | undefined {
    const scripted = this.#scripted.find((candidate) => candidate.operation === operation);
    if (scripted && --scripted.remaining === 0) {
      this.#scripted = this.#scripted.filter((candidate) => candidate !== scripted);
    }
    return scripted?.fault;
  }

  clear(): void {
    this.#scripted = [];
  }
}
