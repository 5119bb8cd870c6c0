import { once } from 'node:events';
import { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';

/** Starts a server on loopback, at any free port unless one is given. It can be used outside a test too. */
export async function startListening(
  server: Server,
  port = 0,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    port: address.port,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      if (server instanceof HttpServer) server.closeAllConnections();
      await closed;
    },
  };
}
