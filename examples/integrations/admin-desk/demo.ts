/** `npm run admin-desk`: the desk with a sandbox and three unresolved keys. Ctrl-C ends all of it. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { startSandbox } from 'payment-collection-client/sandbox';
import { createApp } from './app.ts';
import { hashPassword } from './login.ts';
import { leaveUnresolvedKeys, orders } from './seed.ts';

const sandbox = await startSandbox();
// It ends with this demo. In a shop it is the journal that its client has, on SQLite, PostgreSQL or Redis.
const journal = memoryJournal();
const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
await leaveUnresolvedKeys(payments, sandbox);

const password = randomBytes(6).toString('base64url');
const hash = await hashPassword(password);
const staff = new Map([
  ['ama@shop.example', hash],
  ['kofi@shop.example', hash],
]);
const secret = randomBytes(32).toString('base64url');
const findOrder = async (key: string) => orders.get(key);
const server = createServer(createApp({ payments, journal, staff, secret, findOrder }));
server.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }, () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : address;
  console.log(`The admin desk         http://127.0.0.1:${port}
Log in as              ${[...staff.keys()].join(' or ')}
Password               ${password}
The service's records  ${sandbox.url}`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
    payments.close();
    void sandbox.close();
  });
}
