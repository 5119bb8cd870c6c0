import { cancellationSignal } from '@temporalio/activity';
import type { PaymentsClient } from 'payment-collection-client';
import type { OrderState, Orders } from '../shop/orders.ts';
import { throwForTemporal } from './engine-errors.ts';

export interface Charged {
  reference: string;
  chargedAt: number;
}

export interface Look {
  /** What became of the order, or `null` while the payment is not final: that is no error. */
  state: OrderState | null;
  retryAfter: number | undefined;
}

/** They take an order's id and no more: phone and email stay in the shop's own database, out of Temporal's history. */
export function createActivities({ payments, orders }: { payments: PaymentsClient; orders: Orders }) {
  return {
    /** Temporal runs an activity at least once: where a crash comes before its result is kept, the journal answers. */
    async charge(id: string): Promise<Charged> {
      const { amount, currency, customer_email, phone, network } = orders.get(id);
      const { reference } = await payments
        .chargeMobileMoney({ amount, currency, customer_email, phone, network }, { idempotencyKey: id })
        .catch((error: unknown) => throwForTemporal(error));
      const chargedAt = Date.now();
      orders.charged(id, reference, chargedAt);
      return { reference, chargedAt };
    },

    async look(id: string, { reference, chargedAt }: Charged): Promise<Look> {
      const { final, transaction, retryAfter } = await payments
        .check(reference, { signal: cancellationSignal() })
        .catch((error: unknown) => throwForTemporal(error, Date.now() - chargedAt));
      return { state: final ? orders.conclude(id, transaction) : null, retryAfter };
    },

    async release(id: string): Promise<void> {
      orders.release(id);
    },

    async refuse(id: string, why: string): Promise<void> {
      orders.refuse(id, why);
    },

    async park(id: string, why: string): Promise<void> {
      orders.park(id, why);
    },
  };
}

export type Activities = ReturnType<typeof createActivities>;
