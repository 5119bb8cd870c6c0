import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startListening } from './start-listening.ts';

/** A proxy to a database whose connections go dead: they stay open, and nothing comes through any more. */
export interface SilentProxy {
  readonly url: string;
  /** How many chunks the clients have sent since `silence` was called, or since the start. */
  readonly countChunks: () => number;
  /** Passes on `chunks` more from the clients, the last one without its response if `isResponseLost`, and then nothing. */
  silence(chunks: number, isResponseLost: boolean): void;
}

export async function startSilentProxy(database: string): Promise<SilentProxy> {
  const sockets = new Set<Socket>();
  let chunks = 0;
  let limit = Number.POSITIVE_INFINITY;
  let isLastLost = false;
  const { hostname, port } = new URL(database);
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('close', () => upstream.destroy());
    client.on('data', (data) => {
      if (++chunks <= limit) upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (chunks < limit || (chunks === limit && !isLastLost)) client.write(data);
    });
  });
  const { port: proxyPort } = await startListening(proxy);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const url = new URL(database);
  url.port = String(proxyPort);
  return {
    url: url.href,
    countChunks: () => chunks,
    silence(next, isResponseLost) {
      chunks = 0;
      limit = next;
      isLastLost = isResponseLost;
    },
  };
}
