import { once } from 'node:events';
import { createShopServer } from './app.ts';
import { close, journal, orderPayments, orders } from './payments.ts';
import { port } from './settings.ts';

await journal.migrate();
await orders.migrate();

const server = createShopServer();
const stop = new AbortController();
const closed = once(server, 'close');

// `docker compose stop` and `up` send SIGTERM: the shop takes no new requests, and completes those that it has.
process.once('SIGTERM', () => {
  server.close();
  stop.abort();
});

await once(server.listen(port, '0.0.0.0'), 'listening');
console.log(`The shop listens on port ${port}.`);

// It follows every payment of the journal, also those of a process that was killed.
await orderPayments.run({ signal: stop.signal });
await closed;
await close();
