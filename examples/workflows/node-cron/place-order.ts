import type { NewOrder } from '../shop/order.ts';
import { pressPay } from '../shop/press-pay.ts';
import { shopUrl } from '../shop/settings.ts';
import { orders, payments, pool } from './payments.ts';

/** Stands for the shop's basket: the price comes from the shop, never from the browser. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');
await orders.place(order);
await payments.close();
await pool.end();

await pressPay(shopUrl, order.id);
