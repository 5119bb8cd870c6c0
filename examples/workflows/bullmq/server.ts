import { once } from 'node:events';
import { createOrderServer } from '../shop/order-server.ts';
import { shopUrl } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { orderPayments, orders, payments } from './payments.ts';
import { startSweeps } from './sweeps.ts';

const sweeps = await startSweeps();
const server = createOrderServer({ orderPayments, orders });
const closed = once(server, 'close');

// A deployment ends the process: it takes no new requests, and completes those that it has and its sweep.
process.once('SIGTERM', () => server.close());

await once(server.listen(Number(shopUrl.port), shopUrl.hostname), 'listening');
console.log('ready');
await closed;
await sweeps.stop();
await payments.close();
await engine.close();
orders.close();
