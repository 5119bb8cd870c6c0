import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { enqueue } from './queue.ts';

/** What the shop's route for an order does. Where it fails half way, the worker adds the job when it next starts. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');
const orders = new Orders(ordersFile);
const queue = engine.queue();

orders.place(order);
await enqueue(queue, order.id);

await queue.close();
orders.close();
