import { Client, Connection } from '@temporalio/client';
import type { NewOrder } from '../shop/order.ts';
import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { address, submitOrder } from './temporal.ts';

const order: NewOrder = JSON.parse(process.argv[2] ?? '');
const orders = new Orders(ordersFile);
const connection = await Connection.connect({ address });
orders.place(order);
if (orders.get(order.id).state === 'placed') await submitOrder(new Client({ connection }), order.id);
orders.close();
await connection.close();
