/** Proxies to a database, which lose what comes through or are away for a while. */

import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startListening } from './start-listening.ts';

/** What happens to a piece of data. With `cut`, the connection ends instead. */
type Fate = 'passed' | 'dropped' | 'cut';

/** Judges the data of one connection. */
interface Judge {
  request?(data: Buffer): Fate;
  response?(data: Buffer): Fate;
}

interface TcpProxy {
  /** The address of the database, at the port of the proxy. */
  readonly url: URL;
  /** Ends all connections, and takes no others. */
  close(): Promise<void>;
  /** Listens again, at the same port. */
  reopen(): Promise<void>;
}

/** `accept` gives the judge of each new connection. It can be used outside a test too. */
export async function startProxy(
  database: string | URL,
  accept: () => Judge = () => ({}),
  defaultPort = 0,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const target = new URL(database);
  const open = (port?: number) =>
    startListening(
      createServer((client) => {
        const upstream = connect(Number(target.port || defaultPort), target.hostname);
        const { request, response } = accept();
        for (const [socket, other, judge] of [
          [client, upstream, request],
          [upstream, client, response],
        ] as const) {
          sockets.add(socket);
          socket.on('error', () => other.destroy());
          socket.on('close', () => {
            sockets.delete(socket);
            other.destroy();
          });
          socket.on('data', (data) => {
            const fate = judge?.(data) ?? 'passed';
            if (fate === 'passed') other.write(data);
            if (fate === 'cut') client.destroy();
          });
        }
      }),
      port,
    );
  let listening = await open();
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String(listening.port);
  return {
    url,
    async close() {
      const stopped = listening.stop();
      for (const socket of sockets) socket.destroy();
      await stopped;
    },
    async reopen() {
      listening = await open(listening.port);
    },
  };
}

/** Starts a proxy that cuts one connection: when the result of the next request arrives that matches. It is committed by then. */
export async function startCuttingProxy(database: string, matches: (data: Buffer) => boolean) {
  let cuts = 0;
  const proxy = await startProxy(database, () => {
    let isCut = false;
    return {
      request(data) {
        isCut ||= cuts === 0 && matches(data);
        return 'passed';
      },
      response() {
        if (isCut) cuts = 1;
        return isCut ? 'cut' : 'passed';
      },
    };
  });
  onTestFinished(() => proxy.close());
  return { url: proxy.url.href, cuts: () => cuts };
}
