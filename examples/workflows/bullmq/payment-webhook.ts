import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { notify } from './notifications.ts';

/** The webhook's route does this. It trusts nothing in the request: a notification only causes a check with the service. */
const orders = new Orders(ordersFile);
const queue = engine.queue();

const order = orders.findByReference(process.argv[2] ?? '');
if (order) await notify(queue, order.id);

await queue.close();
orders.close();
