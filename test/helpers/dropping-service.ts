import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { answers } from './service.ts';

const points = ['accept', 'first byte', 'headers', 'request', 'response headers', 'response body'] as const;
const manners = ['FIN', 'RST', 'silence'] as const;
const connections = ['fresh', 'reused after a read', 'reused after a charge'] as const;

/** How a service treats the first charge that is tested. Each further charge succeeds, so a repeat shows itself. */
export interface Drop {
  readonly connection: (typeof connections)[number];
  /** What has happened when the service drops the connection. `accept`, reused: its last response has left. */
  readonly point: (typeof points)[number];
  readonly manner: (typeof manners)[number];
}

export const everyDrop: readonly Drop[] = connections.flatMap((connection) =>
  points.flatMap((point) => manners.map((manner): Drop => ({ connection, point, manner }))),
);

/** The status of the only response to the first charge, after a read on the same connection. */
export interface OnlyStatus {
  readonly connection: 'reused after a read';
  readonly status: number;
}

/** What a runtime or a proxy might take as leave to send a request again. */
export const everyStatus: readonly OnlyStatus[] = [307, 308, 401, 408, 421, 425, 503].map((status) => ({
  connection: 'reused after a read',
  status,
}));

/** What a {@link startDroppingService} has seen, without the requests before the charge that is tested. */
export interface Seen {
  /** Charges of which at least one byte came in. */
  charges: number;
  /** Charges that were answered with success. */
  charged: number;
  connections: number;
  /** Whether the connection was dropped, or the status sent. */
  hasFaulted: boolean;
}

/** HTTP/1.1 by hand on a port of its own, stopped when the test ends. */
export async function startDroppingService(
  fault: Drop | OnlyStatus,
): Promise<{ baseUrl: string; seen: Seen }> {
  const seen: Seen = { charges: 0, charged: 0, connections: 0, hasFaulted: false };
  const sockets = new Set<Socket>();
  const isFresh = fault.connection === 'fresh';
  let chargesBefore = fault.connection === 'reused after a charge' ? 1 : 0;

  const accept = (socket: Socket) => {
    let text = '';
    let isTested = false;
    let isDropped = false;
    const drop = (written: string) => {
      isDropped = true;
      seen.hasFaulted = true;
      socket.write(written, () => leave(socket, fault));
    };
    const respond = () => {
      if (isTested && 'status' in fault && !seen.hasFaulted) {
        seen.hasFaulted = true;
        socket.write(only(fault.status));
        return;
      }
      if (isTested) seen.charged++;
      const response = text.startsWith('POST') ? CHARGED : VERIFIED;
      if (isFresh || isTested || seen.hasFaulted || !isAtAccept(fault)) socket.write(response);
      else drop(response);
    };
    const countCharge = () => {
      if (isTested || !text.startsWith('P') || chargesBefore > 0) return;
      isTested = true;
      seen.charges++;
    };
    const finish = () => {
      respond();
      if (text.startsWith('P') && !isTested) chargesBefore--;
      isTested = false;
      text = '';
    };
    const read = (chunk: string) => {
      text += chunk;
      countCharge();
      if (isDropped) return;
      const written = isTested && !seen.hasFaulted ? writtenBefore(fault, text) : undefined;
      if (written !== undefined) drop(written);
      else if (isWhole(text)) finish();
    };
    seen.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('end', () => socket.destroy());
    socket.setEncoding('latin1').on('data', read);
    if (isFresh && isAtAccept(fault) && !seen.hasFaulted) drop('');
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, seen };
}

const isAtAccept = (fault: Drop | OnlyStatus) => 'point' in fault && fault.point === 'accept';

function leave(socket: Socket, fault: Drop | OnlyStatus): void {
  if (!('manner' in fault)) return;
  if (fault.manner === 'FIN') socket.end();
  if (fault.manner === 'RST') socket.resetAndDestroy();
}

/** What is still written to a charge of which this much was read, if its point has been reached. */
function writtenBefore(fault: Drop | OnlyStatus, text: string): string | undefined {
  if (!('point' in fault)) return undefined;
  switch (fault.point) {
    case 'accept':
      return undefined;
    case 'first byte':
      return '';
    case 'headers':
      return text.includes('\r\n\r\n') ? '' : undefined;
    case 'request':
      return isWhole(text) ? '' : undefined;
    case 'response headers':
      return isWhole(text) ? CHARGED.slice(0, 20) : undefined;
    case 'response body':
      return isWhole(text) ? CHARGED.slice(0, -3) : undefined;
  }
}

const CHARGED = success(answers.chargeMobileMoney());
const VERIFIED = success(answers.verify());

function success(body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

const only = (status: number) =>
  `HTTP/1.1 ${status} Said\r\nlocation: /api/v1/elsewhere\r\nretry-after: 0\r\nwww-authenticate: Bearer\r\ncontent-length: 2\r\n\r\n{}`;

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  const length = Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
  return end >= 0 && request.length >= end + 4 + length;
}
