import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { hint } from './hints.ts';

/** What the webhook's route does. It believes nothing: all that a hint can bring about is a look, which asks the service. */
const orders = new Orders(ordersFile);
const queue = engine.queue();

const order = orders.byReference(process.argv[2] ?? '');
if (order) await hint(queue, order.id);

await queue.close();
orders.close();
