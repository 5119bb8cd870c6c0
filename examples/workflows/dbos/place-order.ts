import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import type { orderWorkflow } from './order-workflow.ts';
import { application, databaseUrl, queue } from './settings.ts';

const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');

const orders = new Orders(ordersFile);
orders.place(order);
orders.close();

const dbos = await DBOSClient.create({ systemDatabaseUrl: databaseUrl, applicationName: application });
// The order's id is the workflow's id, so an order that is placed twice is one workflow.
await dbos.enqueue<typeof orderWorkflow>(
  { queueName: queue, workflowName: 'order', workflowID: order.id },
  order.id,
);
await dbos.destroy();
