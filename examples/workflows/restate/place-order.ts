import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { handOver } from './restate.ts';

const order: NewOrder = JSON.parse(process.argv[2] ?? '');
const orders = new Orders(ordersFile);
orders.place(order);
if (orders.get(order.id).state === 'placed') await handOver(order.id);
orders.close();
