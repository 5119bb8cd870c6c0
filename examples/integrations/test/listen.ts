import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Served } from './checkout-scenarios.ts';

/** Serves a handler on a free port of loopback. */
export async function listen(handler: RequestListener): Promise<Served> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('It does not listen on a port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
