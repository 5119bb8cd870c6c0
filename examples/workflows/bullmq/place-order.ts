import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { enqueue } from './queue.ts';

/** The shop's route for an order does this. If it fails between the two steps, the worker adds the job when it starts. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');
const orders = new Orders(ordersFile);
const queue = engine.queue();

orders.place(order);
await enqueue(queue, order.id);

await queue.close();
orders.close();
