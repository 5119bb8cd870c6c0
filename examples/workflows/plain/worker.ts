import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { payments } from './payments.ts';
import { resumeChargedOrders, resumePlacedOrders } from './resume.ts';
import { workerUrl } from './settings.ts';

const server = createServer(async (request, response) => {
  let status = 202;
  if (request.url === '/orders') resumePlacedOrders();
  // Do not trust the caller. A notification only makes a wait for this payment check it now.
  else if (request.url === '/webhooks/payments') payments.notify(await readReference(request));
  else status = 404;
  response.writeHead(status).end();
});

/** The form of the service's webhooks is not known. If this guess is wrong, only the notification is lost. */
async function readReference(request: IncomingMessage): Promise<string> {
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
resumePlacedOrders();
// For an order that was stored while no notification reached the worker.
const interval = setInterval(resumePlacedOrders, 60_000);
console.log('ready');

process.once('SIGTERM', () => {
  server.close();
  clearInterval(interval);
  payments.close();
});

await resumeChargedOrders();
