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
import { ownsReference } from '../ledger/payment.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { stringField } from '../support/untrusted.ts';
import { toStoredStatus } from './stored-result.ts';

export interface Checked {
  readonly reference: string;
  readonly finding: Finding;
  /** When it was asked, by the store's own clock. */
  readonly askedAt: number;
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
  try {
    const checked = await access.check(reference, { ...signals, expect: { amount, currency } });
    return toChecked(reference, checked, askedAt);
  } catch (error) {
    const isEnded = [signals.signal, signals.sendUntil].some(
      ({ aborted, reason }) => aborted && Object.is(error, reason),
    );
    if (isEnded || (concernsClient(error) && !(error instanceof PermissionError))) throw error;
    return toFailedCheck(reference, error, askedAt);
  }
}

export function toChecked(
  reference: string,
  { transaction, retryAfter }: CheckedTransaction,
  askedAt: number,
): Checked {
  const { paid_at } = transaction;
  const status = toStoredStatus(getRawStatus(transaction) ?? '');
  const finding = { is: 'answered', status, paid_at } as const;
  return { reference, finding, askedAt, retryAfter, transaction };
}

export function toFailedCheck(reference: string, error: unknown, askedAt: number): Checked {
  const retryAfter = error instanceof APIError ? error.retryAfter : undefined;
  return { reference, finding: toFinding(error), askedAt, retryAfter, error };
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
  return checks.reduce(
    (checked, { reference, finding, askedAt, retryAfter }) =>
      check(checked, reference, finding, { askedAt, now, random: Math.random(), retryAfter }),
    record,
  );
}
