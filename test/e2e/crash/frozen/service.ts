import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createCertificate } from '../../../helpers/certificate.ts';
import { sendJson, successBodies } from '../../../helpers/service.ts';
import { startListening } from '../../../helpers/start-listening.ts';

const PADDING = 'x'.repeat(400_000);

/** What happens to the next charge at the service. */
export class Visit {
  readonly connected = Promise.withResolvers<Socket>();
  isConnected = false;
  readonly arrived = Promise.withResolvers<void>();
  /** The response is held back until then. */
  readonly released = Promise.withResolvers<void>();
  /** Whether the whole response has been written to the connection. */
  isResponded = false;
}

/** Starts a service over TLS that begins the handshake of a charge's first connection only when it is told. Its responses have 400 kB. */
export async function startTlsService() {
  const certificate = createCertificate();
  const arrivals: string[] = [];
  const sockets = new Set<Socket>();
  let visit = new Visit();
  const service = createServer(certificate, async (request, response) => {
    const current = visit;
    arrivals.push(JSON.parse(await text(request)).key);
    current.arrived.resolve();
    await current.released.promise;
    response.on('finish', () => {
      current.isResponded = true;
    });
    const created = successBodies.chargeMobileMoney({ reference: `TXN-${arrivals.length}` });
    sendJson(response, 200, { ...created, padding: PADDING }, { connection: 'close' });
  });
  service.on('tlsClientError', () => {});
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    // fetch can connect once more after a charge that it has not sent. Unread, that connection would never end.
    if (visit.isConnected) service.emit('connection', socket);
    visit.isConnected = true;
    visit.connected.resolve(socket);
  });
  const { port, stop } = await startListening(server);
  return {
    ca: certificate.cert,
    baseUrl: `https://127.0.0.1:${port}/api/v1`,
    /** The charge of each request that arrived. */
    arrivals,
    awaitVisit() {
      visit = new Visit();
      return visit;
    },
    shakeHands: (socket: Socket) => void service.emit('connection', socket),
    async closeConnections() {
      const closed = [...sockets].map((socket) => once(socket, 'close'));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
    /** Resolves once all connections have ended, so that all that was sent has been read. */
    stop,
  };
}
