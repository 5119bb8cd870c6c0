import { cancellationSignal } from '@temporalio/activity';
import type { PaymentsClient } from 'payment-collection-client';
import type { OrderState } from '../shop/order.ts';
import type { Orders } from '../shop/orders.ts';
import { throwForTemporal } from './engine-errors.ts';

export interface Charged {
  reference: string;
  chargedAt: number;
}

export interface CheckedPayment {
  /** The order's new state, or `null` while the payment is not final, which is not an error. */
  state: OrderState | null;
  retryAfter: number | undefined;
}

/** Creates the activities. They take only an order's id, so that phone and email stay out of Temporal's history. */
export function createActivities({ payments, orders }: { payments: PaymentsClient; orders: Orders }) {
  return {
    /** After a crash before its result is stored, Temporal runs it again. The journal then returns the first result. */
    async charge(id: string): Promise<Charged> {
      const { amount, currency, customer_email, phone, network } = orders.get(id);
      const { reference } = await payments
        .chargeMobileMoney({ amount, currency, customer_email, phone, network }, { idempotencyKey: id })
        .catch((error: unknown) => throwForTemporal(error));
      const chargedAt = Date.now();
      orders.markCharged(id, reference, chargedAt);
      return { reference, chargedAt };
    },

    async checkPayment(id: string, { reference, chargedAt }: Charged): Promise<CheckedPayment> {
      const { final, transaction, retryAfter } = await payments
        .check(reference, { signal: cancellationSignal() })
        .catch((error: unknown) => throwForTemporal(error, Date.now() - chargedAt));
      return { state: final ? orders.applyFinalStatus(id, transaction) : null, retryAfter };
    },

    async release(id: string): Promise<void> {
      orders.release(id);
    },

    async reject(id: string, reason: string): Promise<void> {
      orders.reject(id, reason);
    },

    async holdForReview(id: string, reason: string): Promise<void> {
      orders.holdForReview(id, reason);
    },
  };
}

export type Activities = ReturnType<typeof createActivities>;
