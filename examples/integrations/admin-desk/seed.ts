import { OutcomeUnknownError, type PaymentsClient } from 'payment-collection-client';
import type { Sandbox } from 'payment-collection-client/sandbox';
import type { Order } from './entry-page.ts';

/** The shop's orders, by the key of their charge. They stand for the table that you have. */
export const orders: ReadonlyMap<
  string,
  Order & { readonly amount: string; readonly network: 'mtn' | 'telecel' }
> = new Map([
  [
    'order-1040/1',
    {
      customer: 'Yaw Boateng',
      phone: '0201239876',
      email: 'yaw@example.com',
      amount: '80.00',
      network: 'telecel',
    },
  ],
  [
    'order-1041/1',
    {
      customer: 'Ama Serwaa',
      phone: '0244123456',
      email: 'ama@example.com',
      amount: '25.50',
      network: 'mtn',
    },
  ],
  [
    'order-1042/1',
    {
      customer: 'Efua Mensah',
      phone: '0501112233',
      email: 'efua@example.com',
      amount: '120.00',
      network: 'telecel',
    },
  ],
  [
    'order-1043/1',
    {
      customer: 'Kojo Asante',
      phone: '0244765432',
      email: 'kojo@example.com',
      amount: '25.50',
      network: 'mtn',
    },
  ],
]);

/** Charges each order. Three keys stay unresolved: the first is paid, no charge exists for the second, the third waits. */
export async function leaveUnresolvedKeys(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  await charge(payments, 'order-1040/1');

  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  await charge(payments, 'order-1041/1');
  const paid = sandbox.charges.find(({ customer_email }) => customer_email === 'ama@example.com');
  if (paid) sandbox.approve(paid.reference);

  sandbox.fault('chargeMobileMoney', { kind: 'reset' });
  await charge(payments, 'order-1042/1');

  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  await charge(payments, 'order-1043/1');
}

async function charge(payments: PaymentsClient, key: string): Promise<void> {
  const order = orders.get(key);
  if (!order) throw new Error(`There is no order for ${key}.`);
  const { amount, email: customer_email, phone, network } = order;
  try {
    await payments.chargeMobileMoney({ amount, customer_email, phone, network }, { idempotencyKey: key });
  } catch (error) {
    if (!(error instanceof OutcomeUnknownError)) throw error;
  }
}
