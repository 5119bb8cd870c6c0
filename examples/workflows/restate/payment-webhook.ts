import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { sendHint } from './restate.ts';

const [reference = ''] = process.argv.slice(2);
const orders = new Orders(ordersFile);
const order = orders.byReference(reference);
if (order) await sendHint(order.id);
orders.close();
