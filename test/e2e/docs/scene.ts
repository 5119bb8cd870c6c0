import { type ChargeMobileMoneyInput, PaymentsClient } from 'payment-collection-client';
import type { MockPayments } from 'payment-collection-client/testing';

/** Where a block runs. It cannot use these: a block has no names but its own. */
export interface Scene {
  /** Of the payment that is there before the block runs. */
  readonly reference: string;
  /** What the customer of a story is charged. */
  readonly charge: ChargeMobileMoneyInput;
  readonly mock: MockPayments;
  /** Is called after each line that the block prints. */
  onPrint(): void;
}

/** The service, with one payment that is pending. */
export async function setScene(mock: MockPayments): Promise<Scene> {
  const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
  const price = { amount: '25.50', currency: 'GHS' };
  await using payments = new PaymentsClient();
  const { reference } = await payments.initialize({ ...price, customer_email: customer.customer_email });
  return { reference, charge: { ...price, ...customer }, mock, onPrint() {} };
}
