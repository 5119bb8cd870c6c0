import type { NewOrder } from './order.ts';
import { Orders } from './orders.ts';
import { pressPay } from './press-pay.ts';
import { ordersFile, shopUrl } from './settings.ts';

/** Stands for the shop's basket: the price comes from the shop, never from the browser. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');
const orders = new Orders(ordersFile);
orders.place(order);
orders.close();

await pressPay(shopUrl, order.id);
