import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { notifyWorker } from './notify-worker.ts';

const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');

const orders = new Orders(ordersFile);
orders.place(order);
orders.close();

await notifyWorker('/orders', {});
