import { once } from 'node:events';
import { createOrderServer } from '../shop/order-server.ts';
import { shopUrl } from '../shop/settings.ts';
import { orderPayments, orders, payments, pool } from './payments.ts';

/** Charges within the request. Its work ends with the response: the cron job follows the payment. */
const server = createOrderServer({ orderPayments, orders });
const closed = once(server, 'close');

// A deployment ends the process: it takes no new requests, and completes those that it has.
process.once('SIGTERM', () => server.close());

await once(server.listen(Number(shopUrl.port), shopUrl.hostname), 'listening');
console.log('ready');
await closed;
await payments.close();
await pool.end();
