import { type PaymentsClient, PaymentsError, TransactionMismatchError } from 'payment-collection-client';
import type { JournalEntry } from 'payment-collection-client/journal';

/** What the service says of a transaction now. */
export interface ServiceStatus {
  readonly kind: 'paid' | 'not_paid' | 'open' | 'unknown';
  readonly text: string;
}

/** Asks the service for the status of the entry's transaction, if it names one. */
export async function checkStatus(
  payments: PaymentsClient,
  { reference, amount, currency }: JournalEntry,
): Promise<ServiceStatus | undefined> {
  if (reference === undefined) return undefined;
  const expect = { amount, currency };
  try {
    const { status, paid_at } = await payments.verify(reference, { expect, timeout: 5_000, maxRetries: 0 });
    if (status === 'success') return { kind: 'paid', text: `paid${paid_at ? ` at ${paid_at}` : ''}` };
    const isOver = status === 'failed' || status === 'abandoned';
    return isOver
      ? { kind: 'not_paid', text: `not paid: ${status}` }
      : { kind: 'open', text: `not final: ${status}` };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    if (error instanceof TransactionMismatchError) {
      const { transaction } = error;
      return { kind: 'unknown', text: `another amount: ${transaction.currency} ${transaction.amount}` };
    }
    return { kind: 'unknown', text: `not known: the service could not be asked (${error.code})` };
  }
}
