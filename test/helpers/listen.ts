import type { Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startListening } from './start-listening.ts';

/** Starts a server on loopback and returns its port. When the test ends, it is stopped with all its connections. */
export async function listenForTest(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  const { port } = await startListening(server);
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return port;
}
