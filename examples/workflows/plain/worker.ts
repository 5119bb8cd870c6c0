import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { payments } from './payments.ts';
import { workerUrl } from './settings.ts';
import { takeUpCharged, takeUpPlaced } from './start-up.ts';

const server = createServer(async (request, response) => {
  let status = 202;
  if (request.url === '/orders') takeUpPlaced();
  // Whoever calls it is believed nothing: where somebody waits for this payment, it is looked at now.
  else if (request.url === '/webhooks/payments') payments.notify(await referenceIn(request));
  else status = 404;
  response.writeHead(status).end();
});

/** What a webhook holds is not shown by the service: this is a guess, and a wrong one costs only the hint. */
async function referenceIn(request: IncomingMessage): Promise<string> {
  try {
    let body = '';
    for await (const chunk of request) {
      body += chunk;
      if (body.length > 10_000) return '';
    }
    return String(Object(JSON.parse(body)).reference);
  } catch {
    return '';
  }
}

await once(server.listen(Number(workerUrl.port), workerUrl.hostname), 'listening');
takeUpPlaced();
// For an order that was written down, and of which nobody could tell the worker.
const rounds = setInterval(takeUpPlaced, 60_000);
console.log('ready');

process.once('SIGTERM', () => {
  server.close();
  clearInterval(rounds);
  payments.close();
});

await takeUpCharged();
