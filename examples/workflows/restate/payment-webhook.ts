import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { sendNotification } from './restate.ts';

const [reference = ''] = process.argv.slice(2);
const orders = new Orders(ordersFile);
const order = orders.findByReference(reference);
if (order) await sendNotification(order.id);
orders.close();
