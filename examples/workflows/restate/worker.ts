import { once } from 'node:events';
import { createServer } from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import { orderWorkflow } from './order-workflow.ts';
import { submitOrder } from './restate.ts';
import { orders, shutDown } from './steps.ts';

const endpoint = restate.endpoint().bind(orderWorkflow);
const server = createServer(endpoint.http2Handler());
// Everyone who reaches this port can run the steps, so it is on loopback. Elsewhere, use Restate's identity keys.
await once(server.listen(Number(process.env.PORT ?? 9080), '127.0.0.1'), 'listening');
console.log('ready');

process.once('SIGTERM', async () => {
  await shutDown();
  process.exit();
});

// An order might be stored and not submitted: the shop crashed in between. The first time, Restate knows the workflow
// only once this worker is registered.
const untilRegistered = { maxAttempts: false, maxDuration: false, shouldRetry: () => true } as const;
for (const { id } of orders.listByState('placed')) await submitOrder(id, untilRegistered);
