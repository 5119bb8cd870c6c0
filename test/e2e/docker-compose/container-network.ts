/**
 * Loaded into each process by `--import`: gives it the network of its container. Names and ports are those of compose.yaml,
 * and lead to ports of this machine that no other program uses. A name that no service has does not exist.
 */

import { type ListenOptions, type NetConnectOpts, Server, Socket } from 'node:net';

/** Ports of this machine by `host:port` of the network, and by the port that a server listens on. */
export interface ContainerNetwork {
  readonly connect: Readonly<Record<string, number>>;
  readonly listen: Readonly<Record<string, number>>;
}

const network: ContainerNetwork = JSON.parse(process.env.CONTAINER_NETWORK ?? '{"connect":{},"listen":{}}');

function translate({ host = 'localhost', port }: { host?: string | undefined; port: number }) {
  const found = network.connect[`${host}:${port}`];
  if (found === undefined) throw new Error(`This container cannot reach ${host}:${port}.`);
  return { host: '127.0.0.1', port: found };
}

const connect = Socket.prototype.connect;
Socket.prototype.connect = function (this: Socket, ...given: unknown[]): Socket {
  const [first, second] = given;
  // `net.connect` passes its arguments on as one array, with the options first.
  if (Array.isArray(first)) first[0] = rewrite(first[0]);
  else if (typeof first === 'number') given.splice(0, 2, translate({ host: readHost(second), port: first }));
  else given[0] = rewrite(first);
  return Reflect.apply(connect, this, given);
};

function rewrite(options: unknown): NetConnectOpts {
  const { host, port }: { host?: string; port?: unknown } = Object(options);
  return { ...Object(options), ...translate({ host, port: Number(port) }) };
}

function readHost(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const listen = Server.prototype.listen;
Server.prototype.listen = function (this: Server, ...given: unknown[]): Server {
  const [first, second] = given;
  const { host, port }: ListenOptions =
    typeof first === 'object' ? Object(first) : { port: Number(first), host: readHost(second) };
  const found = network.listen[String(port)];
  if (found === undefined) throw new Error(`This container publishes no port ${port}.`);
  // A published port leads to the address of the container, not to its loopback.
  if (host !== '0.0.0.0') throw new Error(`No other container can reach a server on ${host}.`);
  const rest = typeof first === 'object' ? given.slice(1) : given.slice(2);
  return Reflect.apply(listen, this, [{ host: '127.0.0.1', port: found }, ...rest]);
};
