/** What is stored of a result: the documented fields, in a form that holds nothing of a customer. */

import type { OperationName } from '../api/operations.ts';
import { getRawStatus } from '../api/transaction.ts';
import type { AnyTransaction } from '../errors.ts';
import type { RecordedResult } from '../ledger/record.ts';
import type { Redact } from '../support/redact.ts';
import { stringField } from '../support/untrusted.ts';

/**
 * Returns what a replay needs of a result. Only the documented fields are stored: any other could hold a customer's name or
 * address. The message is left out, because it announces a prompt that a replay does not send.
 */
export function toStoredResult(
  operation: OperationName,
  result: AnyTransaction,
  redact: () => Redact,
): RecordedResult {
  const { reference, amount, currency } = result;
  const fields = operation === 'initialize' ? pickPage(result, redact) : pickStatus(result, redact);
  return { reference, amount, currency, ...fields };
}

/** Returns the status, and the time of a payment. */
function pickStatus(result: object, redact: () => Redact): object {
  const status = getRawStatus(result);
  const paidAt = stringField(result, 'paid_at');
  return {
    ...(status === undefined ? {} : { status: toStoredStatus(status, redact) }),
    ...(paidAt !== undefined && STORABLE_TIME.test(paidAt) ? { paid_at: paidAt } : {}),
  };
}

/** Only what has the form of a status is stored. Any other text could hold a customer's name, and what is redacted a phone number. */
export function toStoredStatus(status: string, redact?: () => Redact): string {
  const isWord = /^[\w-]{1,40}$/.test(status);
  return isWord && (!redact || redact()(status) === status) ? status : 'unrecognised';
}

const STORABLE_TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)$/;

/** How long an address of a checkout page is stored, in characters: all of it is searched for what must not be stored. */
const MAX_STORED_CHARS = 16 * 1024;

/**
 * Returns the address of a checkout page, unless it holds the customer's own email or an API key. It must not be stored
 * then, and would not open the page without them. Another email (`/@shop`, a help desk) is part of the address.
 */
function pickPage(result: object, redact: () => Redact): object {
  const address = stringField(result, 'checkout_url');
  if (address === undefined || address.length > MAX_STORED_CHARS) return {};
  return redact().secrets(address) === address ? { checkout_url: address } : {};
}
