import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { type OrderState, Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { throwForRestate } from './engine-errors.ts';

const { JOURNAL_FILE = 'journal.db', JOURNAL_LEASE = '10000' } = process.env;

export const orders = new Orders(ordersFile);

// Restate retries by itself. Retries inside its retries would multiply, and its dashboard would not show them.
const payments = new PaymentsClient({
  journal: sqliteJournal(new DatabaseSync(JOURNAL_FILE), { lease: Number(JOURNAL_LEASE) }),
  timeout,
  maxRetries: 0,
});

/** What Restate stores of the charge. Phone and email stay in the shop's database. */
export interface Charged {
  reference: string;
  chargedAt: number;
}

export interface CheckedPayment {
  /** The order's new state, or `null` while the payment is not final, which is not an error. */
  state: OrderState | null;
  at: number;
  retryAfter: number | undefined;
}

const charging = new Set<Promise<Charged>>();

/** After a crash before its result is stored, Restate runs the step again. The journal then returns the first result. */
export function charge(id: string): Promise<Charged> {
  const charged = chargeOnce(id).finally(() => charging.delete(charged));
  charging.add(charged);
  return charged;
}

/** Takes nothing new and lets running charges end: one that is interrupted would need a manual review. */
export async function shutDown(): Promise<void> {
  payments.close();
  await Promise.allSettled(charging);
}

export async function checkPayment(id: string, { reference, chargedAt }: Charged): Promise<CheckedPayment> {
  const { final, transaction, retryAfter } = await payments
    .check(reference)
    .catch((error: unknown) => throwForRestate(error, Date.now() - chargedAt));
  return { state: final ? orders.applyFinalStatus(id, transaction) : null, at: Date.now(), retryAfter };
}

async function chargeOnce(id: string): Promise<Charged> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  const { reference } = await payments
    .chargeMobileMoney({ amount, currency, customer_email, phone, network }, { idempotencyKey: id })
    .catch((error: unknown) => throwForRestate(error));
  const chargedAt = Date.now();
  orders.markCharged(id, reference, chargedAt);
  return { reference, chargedAt };
}
