import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { address } from './temporal.ts';

const [reference = ''] = process.argv.slice(2);
const orders = new Orders(ordersFile);
const order = orders.findByReference(reference);
orders.close();

if (order) {
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection });
  await workflow
    .getHandle(order.id)
    .signal('notification')
    .catch((error: unknown) => {
      // The order is final.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  await connection.close();
}
