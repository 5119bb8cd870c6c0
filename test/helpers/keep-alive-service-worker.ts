import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { KeepAlive, RecordedCharge, WorkerData } from './keep-alive-service.ts';

const { services, verified, taken, goAhead, closed }: WorkerData = workerData;
const charged: RecordedCharge[] = [];
const used = new WeakSet<Socket>();

async function respond(request: IncomingMessage, response: ServerResponse) {
  const { socket, method, url = '' } = request;
  const onOpenConnection = used.has(socket);
  used.add(socket);
  let body = '';
  for await (const chunk of request) body += chunk;

  response.setHeader('content-type', 'application/json');
  if (method === 'POST') {
    charged.push({ order: JSON.parse(body).order, onOpenConnection });
    response.end(JSON.stringify(taken));
    return;
  }
  const reference = url.slice(url.lastIndexOf('/') + 1);
  const [, manner] = reference.split('TXN-close-');
  if (manner) response.once('finish', () => closeOnCommand(socket, manner));
  response.end(JSON.stringify({ ...verified, data: { ...verified.data, reference } }));
}

/** Waits until the client's thread is about to be busy. Then it closes the connection, and signals that it has. */
function closeOnCommand(socket: Socket, manner: string) {
  Atomics.wait(goAhead, 0, 0);
  Atomics.store(goAhead, 0, 0);
  const signal = () => {
    Atomics.store(closed, 0, 1);
    Atomics.notify(closed, 0);
  };
  socket.once(manner === 'RST' ? 'close' : 'finish', signal);
  if (manner === 'RST') socket.resetAndDestroy();
  else socket.end();
}

function start({ keepAlive, hint }: KeepAlive): Promise<number> {
  const options = { keepAliveTimeout: keepAlive, keepAliveTimeoutBuffer: 0 };
  const server = createServer(options, (request, response) => {
    // Node adds the Keep-Alive header only if it sets the Connection header itself.
    if (!hint) response.setHeader('connection', 'keep-alive');
    respond(request, response).catch(() => response.destroy());
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

parentPort?.on('message', () => parentPort?.postMessage(charged));
parentPort?.postMessage(await Promise.all(services.map(start)));
