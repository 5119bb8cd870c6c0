import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Arrived } from './checks.ts';
import { ProbeError } from './service.ts';

/** More come only from somebody who plays with the port. */
const MAX_WEBHOOKS = 100;

/**
 * Starts what listens on this machine: it leads a person to the checkout pages, and keeps the webhooks that arrive.
 *
 * @throws {ProbeError} if the port cannot be used
 */
export async function startListener(port: number) {
  const webhooks: Arrived[] = [];
  const pages: string[] = [];
  const server = createServer(async (request, response) => {
    const page = pages[Number(request.url?.slice(1))];
    if (request.method === 'GET') response.writeHead(page ? 302 : 404, page ? { location: page } : {});
    else if (webhooks.length < MAX_WEBHOOKS)
      webhooks.push({ headers: request.headers, body: await text(request).catch(() => '') });
    response.end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(() => {
    throw new ProbeError(`Port ${port} cannot be used. Give another --webhook-port.`);
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`;
  return {
    webhooks,
    /** Returns an address that leads to a page. It names no reference. */
    leadTo: (page: string) => `${origin}/${pages.push(page) - 1}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
