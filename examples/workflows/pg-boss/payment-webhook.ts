import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { notify } from './notifications.ts';
import { findCheck } from './order-workflow.ts';
import { startBoss } from './queues.ts';

/** The webhook's route does this. It trusts nothing in the request: a notification only causes a check with the service. */
const orders = new Orders(ordersFile);
const boss = await startBoss({ isWorker: false });

const order = orders.findByReference(process.argv[2] ?? '');
const check = order && findCheck(order);
if (check) await notify(boss, check);

await boss.stop();
orders.close();
