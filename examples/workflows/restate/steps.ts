import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { type OrderState, Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { throwForRestate } from './engine-errors.ts';

const { JOURNAL_FILE = 'journal.db', JOURNAL_LEASE = '10000' } = process.env;

export const orders = new Orders(ordersFile);

// Restate tries again by itself: retries within retries would multiply, and hide.
const payments = new PaymentsClient({
  journal: sqliteJournal(new DatabaseSync(JOURNAL_FILE), { lease: Number(JOURNAL_LEASE) }),
  timeout,
  maxRetries: 0,
});

/** What Restate keeps of each step. Phone and email stay in the shop's own database. */
export interface Charged {
  reference: string;
  chargedAt: number;
}

export interface Look {
  /** What became of the order, or `null` while the payment is not final: that is no error. */
  state: OrderState | null;
  at: number;
  retryAfter: number | undefined;
}

const charging = new Set<Promise<Charged>>();

/** Restate keeps the result of a step; where a crash comes before that, it runs again, and the journal answers. */
export function charge(id: string): Promise<Charged> {
  const charged = chargeOnce(id).finally(() => charging.delete(charged));
  charging.add(charged);
  return charged;
}

/** Takes nothing new, and lets a charge end: one that is cut off would be left to a person. */
export async function shutDown(): Promise<void> {
  payments.close();
  await Promise.allSettled(charging);
}

export async function look(id: string, { reference, chargedAt }: Charged): Promise<Look> {
  const { final, transaction, retryAfter } = await payments
    .check(reference)
    .catch((error: unknown) => throwForRestate(error, Date.now() - chargedAt));
  return { state: final ? orders.conclude(id, transaction) : null, at: Date.now(), retryAfter };
}

async function chargeOnce(id: string): Promise<Charged> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  const { reference } = await payments
    .chargeMobileMoney({ amount, currency, customer_email, phone, network }, { idempotencyKey: id })
    .catch((error: unknown) => throwForRestate(error));
  const chargedAt = Date.now();
  orders.charged(id, reference, chargedAt);
  return { reference, chargedAt };
}
