import { createServer, type Socket } from 'node:net';
import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import { isWholeRequest } from './http-messages.ts';
import { listenForTest } from './listen.ts';
import { API_KEY } from './service.ts';
import { transportFor } from './transport-under-test.ts';

/** A port on which nothing listens. No other process can take it meanwhile: it is below those that are given out. */
export const CLOSED_PORT = 2;

/**
 * Starts a service that responds on the socket itself. `respond` gets the socket after each whole request, and can write any
 * bytes or end the connection. `requests` has the requests as text. `end` ends every connection.
 */
export async function startRawService(respond: (socket: Socket, count: number) => void) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (!isWholeRequest(text)) return;
      requests.push(text);
      text = '';
      respond(socket, requests.length);
    });
  });
  const port = await listenForTest(server);
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { baseUrl, requests, client: createClientFor(baseUrl), end };
}

/** Returns a function that creates clients of the service at an address. By default they make no retries. */
export function createClientFor(baseUrl: string) {
  return (options: PaymentsClientOptions = {}) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl, maxRetries: 0, ...transportFor(options), ...options });
}
