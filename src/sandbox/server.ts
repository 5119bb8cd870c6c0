import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { isLoopback } from '../loopback.ts';
import { SandboxError } from './address.ts';

/** Where to listen. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly allowRemote: boolean;
}

/** Takes a port, or says why it cannot. Nothing is answered before {@link answerWith}. */
export async function listen({ host, port, allowRemote }: Listening): Promise<Server> {
  if (!allowRemote && !isLoopback(host)) {
    throw new SandboxError(
      `${host} is not a loopback address: others on the network could reach the sandbox. ` +
        'If that is meant, say so: --allow-remote.',
    );
  }
  const server = createServer();
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new SandboxError(refusal(error, host, port), { cause: error });
  }
  return server;
}

function refusal(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : error;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Choose another with --port, or end what listens there.`;
    case 'EACCES':
      return `Port ${port} may not be used without further rights. Choose one from 1024 on with --port.`;
    default:
      return `Cannot listen on ${host}, port ${port}: ${code}.`;
  }
}

export function answerWith(
  server: Server,
  app: (request: Request, bindings: object) => Promise<Response> | Response,
): void {
  const answer = (request: Request, bindings: object) =>
    // No `Request` can be made of this one: fetch forbids the method.
    request.method === 'TRACE'
      ? new Response(null, { status: 405 })
      : app(toStandardRequest(request), bindings);
  const listener = getRequestListener(answer, {
    // The Request and Response of the process that started the sandbox stay as they are.
    overrideGlobalObjects: false,
  });
  server.on('request', listener);
}

/** The types of a browser's fetch do not know it. */
const streamed = { duplex: 'half' };

/**
 * The body limit copies a request without a `content-length`, to count its body. The listener's own kind of request cannot
 * be copied, and it has a body even if nothing was sent.
 */
function toStandardRequest(request: Request): Request {
  const { url, method, headers, signal } = request;
  if (method === 'GET' || method === 'HEAD') return request;
  if (headers.has('transfer-encoding'))
    return new Request(url, { method, headers, body: request.body, signal, ...streamed });
  return headers.has('content-length') ? request : new Request(url, { method, headers, signal });
}

/** Also requests that hang, and pages that listen for news, end here. */
export async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
