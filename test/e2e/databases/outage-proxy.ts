import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { startListening } from '../../helpers/start-listening.ts';

/** Passes connections on to a server that is not ours, until it is closed. */
export class OutageProxy {
  readonly #target: URL;
  readonly #defaultPort: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(target: URL, defaultPort: number) {
    this.#target = target;
    this.#defaultPort = defaultPort;
  }

  async listen(port: number): Promise<number> {
    const { hostname, port: targetPort } = this.#target;
    const server = createServer((near) => {
      const far = connect(Number(targetPort || this.#defaultPort), hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      near.pipe(far);
      far.pipe(near);
    });
    this.#server = server;
    return (await startListening(server, port)).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
