import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import { API_KEY } from './service.ts';
import { transportFor } from './transport-under-test.ts';

/** A TCP server on loopback, stopped with all its connections when the test ends. */
export async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * A service below HTTP: `answer` gets the socket once a whole request has come in, and writes or breaks what it likes.
 * `requests` holds the requests as text; `end` cuts every connection.
 */
export async function startRawService(answer: (socket: Socket, count: number) => void) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (!isWhole(text)) return;
      requests.push(text);
      text = '';
      answer(socket, requests.length);
    });
  });
  const port = await listening(server);
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { baseUrl, requests, client: clientOf(baseUrl), end };
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  const length = Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
  return end >= 0 && request.length >= end + 4 + length;
}

/** Makes clients of the service at an address; they retry nothing unless told. */
export function clientOf(baseUrl: string) {
  return (options: PaymentsClientOptions = {}) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl, maxRetries: 0, ...transportFor(options), ...options });
}

/** A port on loopback where nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
