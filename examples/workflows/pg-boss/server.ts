import { once } from 'node:events';
import { createOrderServer } from '../shop/order-server.ts';
import { shopUrl, timeout } from '../shop/settings.ts';
import { journal, orderPayments, orders, payments, pool } from './payments.ts';
import { startSweeps } from './sweeps.ts';

await journal.migrate();
const boss = await startSweeps();
const server = createOrderServer({ orderPayments, orders });
const closed = once(server, 'close');

// A deployment ends the process: it takes no new requests, and completes those that it has and its sweep.
process.once('SIGTERM', () => server.close());

await once(server.listen(Number(shopUrl.port), shopUrl.hostname), 'listening');
console.log('ready');
await closed;
await boss.stop({ timeout: 2 * timeout });
await payments.close();
await pool.end();
orders.close();
