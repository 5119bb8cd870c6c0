import { once } from 'node:events';
import { createServer } from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import { orderWorkflow } from './order-workflow.ts';
import { handOver } from './restate.ts';
import { orders, shutDown } from './steps.ts';

const endpoint = restate.endpoint().bind(orderWorkflow);
const server = createServer(endpoint.http2Handler());
// Whoever reaches this port can run the steps: it is on loopback. Elsewhere, use Restate's identity keys.
await once(server.listen(Number(process.env.PORT ?? 9080), '127.0.0.1'), 'listening');
console.log('ready');

process.once('SIGTERM', async () => {
  await shutDown();
  process.exit();
});

// An order may be written down and not handed over: its shop died in between. The first time, Restate knows the
// workflow only once this worker is registered.
const untilRegistered = { maxAttempts: false, maxDuration: false, shouldRetry: () => true } as const;
for (const { id } of orders.in('placed')) await handOver(id, untilRegistered);
