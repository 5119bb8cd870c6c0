/** Checks transactions of a record at the service, and records what was found. */

import { getRawStatus, type Transaction } from '../api/transaction.ts';
import type { CheckedTransaction, CheckOptions, ClientAccess } from '../client-access.ts';
import {
  APIError,
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  NotFoundError,
  PaymentsError,
  PermissionError,
  TransactionMismatchError,
} from '../errors.ts';
import { check, type Finding } from '../ledger/check.ts';
import { isSamePrice, ownsReference } from '../ledger/payment.ts';
import type { LedgerRecord, Price } from '../ledger/record.ts';
import { stringField } from '../support/untrusted.ts';
import { toStoredStatus } from './stored-result.ts';

/** What was asked for. */
interface Asked {
  readonly reference: string;
  /** The price of the payment that had the reference. */
  readonly expect: Price;
  /** When it was asked, by the store's own clock. */
  readonly askedAt: number;
}

export interface Checked extends Asked {
  readonly finding: Finding;
  readonly retryAfter: number | undefined;
  readonly error?: unknown;
  /** As the service returned it now. */
  readonly transaction?: Transaction | undefined;
}

/**
 * Checks a transaction of a record.
 *
 * @throws what concerns the client, and the reason of a signal.
 */
export async function checkReference(
  access: Pick<ClientAccess, 'check'>,
  record: LedgerRecord,
  { reference, askedAt, ...signals }: Omit<CheckOptions, 'expect'> & { reference: string; askedAt: number },
): Promise<Checked> {
  // Another payment can name it too, at another price.
  const payment = record.payments.find((item) => ownsReference(item, reference));
  const { amount, currency } = payment ?? record.price;
  const asked = { reference, expect: { amount, currency }, askedAt };
  try {
    return toChecked(asked, await access.check(reference, { ...signals, expect: asked.expect }));
  } catch (error) {
    const isEnded = [signals.signal, signals.sendUntil].some(
      ({ aborted, reason }) => aborted && Object.is(error, reason),
    );
    if (isEnded || (concernsClient(error) && !(error instanceof PermissionError))) throw error;
    return toFailedCheck(asked, error);
  }
}

export function toChecked(asked: Asked, { transaction, retryAfter }: CheckedTransaction): Checked {
  const { paid_at } = transaction;
  const status = toStoredStatus(getRawStatus(transaction) ?? '');
  const finding = { is: 'answered', status, paid_at } as const;
  return { ...asked, finding, retryAfter, transaction };
}

export function toFailedCheck(asked: Asked, error: unknown): Checked {
  const retryAfter = error instanceof APIError ? error.retryAfter : undefined;
  return { ...asked, finding: toFinding(error), retryAfter, error };
}

function toFinding(error: unknown): Finding {
  if (error instanceof NotFoundError) return { is: 'not_found' };
  if (error instanceof TransactionMismatchError) return toMismatch(error);
  const isPermanent = error instanceof PaymentsError && !error.retryable;
  return { is: isPermanent ? 'failed' : 'temporary' };
}

/** A transaction of another amount is a result. One of another reference is none. */
function toMismatch({ transaction, mismatches }: TransactionMismatchError): Finding {
  if (mismatches.some(({ field }) => field === 'reference')) return { is: 'failed' };
  const { amount, currency } = transaction;
  const status = toStoredStatus(getRawStatus(transaction) ?? '');
  return {
    is: 'answered',
    status,
    paid_at: stringField(transaction, 'paid_at') ?? null,
    other: { amount, currency },
  };
}

/** Whether an error is about the client rather than about one payment: every other check would fail, too. */
export function concernsClient(error: unknown): error is PaymentsError {
  return (
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof ConfigurationError ||
    error instanceof ClosedError
  );
}

export function recordChecks(
  record: LedgerRecord | null,
  checks: readonly Checked[],
  now: number,
): LedgerRecord | null {
  return checks.reduce((checked, { reference, expect, finding, askedAt, retryAfter }) => {
    const owner = checked?.payments.find((payment) => ownsReference(payment, reference));
    // A person can have given it to a payment of another price meanwhile, which it was not compared with.
    const counts = owner && isSamePrice(owner, expect);
    const times = { askedAt, now, random: Math.random(), retryAfter };
    return check(checked, reference, counts ? finding : { is: 'temporary' }, times);
  }, record);
}
