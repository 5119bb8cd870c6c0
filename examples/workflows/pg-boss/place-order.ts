import { type NewOrder, Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { addCharge, startBoss } from './queues.ts';

/** The shop's route for an order does this. If it fails between the two steps, the worker adds the job when it starts. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '{}');
const orders = new Orders(ordersFile);
const boss = await startBoss({ isWorker: false });

orders.place(order);
await addCharge(boss, { orderId: order.id });

await boss.stop();
orders.close();
