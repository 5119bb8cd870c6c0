/** A server of this machine, for the sandbox and the review desk of the command. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { isIP } from 'node:net';
import { getRequestListener } from '@hono/node-server';

/** The port cannot be used. The message says what to change. */
export class ListenError extends Error {}

/**
 * Listens on a port. Requests wait until {@link serve}.
 *
 * @throws {ListenError} if the port cannot be used
 */
export async function listen(host: string, port: number): Promise<Server> {
  const server = createServer();
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new ListenError(explainListenError(error, host, port), { cause: error });
  }
  return server;
}

function explainListenError(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : error;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Choose another with --port, or stop the program that uses it.`;
    case 'EACCES':
      return `Port ${port} needs more rights than this process has. Choose one from 1024 on with --port.`;
    default:
      return `Cannot listen on ${host}, port ${port}: ${code}.`;
  }
}

export function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Passes the requests of a server to an app. */
export function serve(
  server: Server,
  app: (request: Request, bindings: object) => Promise<Response> | Response,
): void {
  const handle = (request: Request, bindings: object) =>
    // fetch forbids this method, so that no `Request` can be made of it.
    request.method === 'TRACE'
      ? new Response(null, { status: 405 })
      : app(toStandardRequest(request), bindings);
  const listener = getRequestListener(handle, {
    // The process keeps its own Request and Response.
    overrideGlobalObjects: false,
  });
  server.on('request', listener);
}

/** The types of a browser's fetch do not have this option. */
const STREAMED = { duplex: 'half' };

/**
 * Copies a request whose body has no `content-length`. The body limit copies such a request to count its body. The
 * listener's own kind of request cannot be copied, and has a body even when nothing was sent.
 */
function toStandardRequest(request: Request): Request {
  const { url, method, headers, signal } = request;
  if (method === 'GET' || method === 'HEAD') return request;
  if (headers.has('transfer-encoding'))
    return new Request(url, { method, headers, body: request.body, signal, ...STREAMED });
  return headers.has('content-length') ? request : new Request(url, { method, headers, signal });
}

/** Stops a server, and cuts requests that hang and pages that receive events. */
export async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
