import type { OperationName } from '../contract/operation.ts';
import { MAX_TIMEOUT_MS } from '../longest-timer.ts';
import type { Fault, Faults } from './faults.ts';
import { LONGEST_DELAY } from './ledger.ts';

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
