import { once } from 'node:events';
import { createOrderServer } from '../shop/order-server.ts';
import { shopUrl } from '../shop/settings.ts';
import { orderPayments, orders, payments } from './payments.ts';

const server = createOrderServer({ orderPayments, orders });
const stop = new AbortController();
const closed = once(server, 'close');

// A deployment ends the process: it takes no new requests, and completes those that it has.
process.once('SIGTERM', () => {
  server.close();
  stop.abort();
});

await once(server.listen(Number(shopUrl.port), shopUrl.hostname), 'listening');
console.log('ready');

// It follows every payment of the journal, also those of processes that were killed.
await orderPayments.run({ signal: stop.signal });
await closed;
await payments.close();
orders.close();
