import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startListening } from './start-listening.ts';

/**
 * Starts a proxy to a database that cuts one connection: when the result of the next statement arrives that matches. It is
 * committed by then. Returns the URL of the proxy.
 */
export async function startCuttingProxy(
  database: string,
  matches: (data: Buffer) => boolean,
): Promise<{ url: string; cuts: () => number }> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const { hostname, port } = new URL(database);
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isCut = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('data', (data) => {
      if (cuts === 0 && matches(data)) isCut = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!isCut) return client.write(data);
      if (!client.destroyed) cuts++;
      return client.destroy();
    });
  });
  const { port: proxyPort } = await startListening(proxy);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const url = new URL(database);
  url.port = String(proxyPort);
  return { url: url.href, cuts: () => cuts };
}
