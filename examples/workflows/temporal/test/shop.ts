import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { startSandbox } from 'payment-collection-client/sandbox';
import { onTestFinished } from 'vitest';
import { Orders } from '../../shop/orders.ts';
import { createActivities } from '../activities.ts';

/** Opens a shop with a service, one order, and the activities of a worker. */
export async function openShop() {
  const sandbox = await startSandbox();
  const orders = new Orders(':memory:');
  const payments = new PaymentsClient({
    baseUrl: sandbox.baseUrl,
    apiKey: sandbox.liveKey,
    journal: sqliteJournal(new DatabaseSync(':memory:')),
    timeout: 1_000,
    maxRetries: 0,
  });
  onTestFinished(async () => {
    await payments.close();
    orders.close();
    await sandbox.close();
  });
  orders.place({
    id: 'order-1',
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'ama@example.com',
    phone: '0244123456',
    network: 'mtn',
  });
  return {
    sandbox,
    orders,
    activities: createActivities({ payments, orders }),
    order: () => orders.get('order-1'),
    reference: () => orders.get('order-1').reference ?? '',
  };
}
