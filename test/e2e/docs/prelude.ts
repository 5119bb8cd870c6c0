import { type ChargeMobileMoneyInput, PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createOrderPayments, type OrderPayments } from 'payment-collection-client/orders';
import type { MockPayments } from 'payment-collection-client/testing';
import type { Pool } from 'pg';

interface Order {
  readonly id: string;
  readonly amount: string;
  readonly currency: string;
  readonly reference: string;
  /** Epoch ms. */
  readonly chargedAt: number;
}

/**
 * What the pages assume: a block can use these names. A block that declares one of them uses its own.
 *
 * @public `compile.ts` reads it as text
 */
export interface Names {
  order: Order;
  customer: Pick<ChargeMobileMoneyInput, 'customer_email' | 'phone' | 'network'>;
  charge: ChargeMobileMoneyInput;
  reference: string;
  payments: PaymentsClient;
  orderPayments: OrderPayments;
  secrets: { get(name: string): Promise<string> };
  pool: Pool;
}

/** What a block did, for the test to read. */
export interface Scene {
  readonly names: Omit<Names, 'pool'>;
  readonly mock: MockPayments;
  /** Is called after each line that the block prints. */
  onPrint(): void;
}

/** A shop with one order whose payment is pending for a minute, and the service behind it. */
export async function setScene(mock: MockPayments): Promise<Scene> {
  const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
  const price = { amount: '25.50', currency: 'GHS' };
  const payments = new PaymentsClient();
  const { reference } = await payments.initialize({ ...price, customer_email: customer.customer_email });
  const journal = memoryJournal();
  const keyed = { payments: new PaymentsClient({ journal }), journal };
  const orderPayments = createOrderPayments({ ...keyed, onPaid() {}, onAttention() {} });
  const names = {
    order: { id: '17', ...price, reference, chargedAt: Date.now() - 60_000 },
    customer,
    charge: { ...price, ...customer },
    reference,
    payments,
    orderPayments,
    secrets: { get: async () => mock.apiKey },
  };
  return { names, mock, onPrint() {} };
}
