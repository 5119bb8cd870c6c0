import { createServer, type Socket } from 'node:net';
import { formatSuccess, isWholeRequest } from '../../helpers/http-messages.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { successBodies } from '../../helpers/service.ts';

const points = ['accept', 'first byte', 'headers', 'request', 'response headers', 'response body'] as const;
const manners = ['FIN', 'RST', 'silence'] as const;
const connections = ['fresh', 'reused after a read', 'reused after a charge'] as const;

/** When and how the service drops the connection of the first tested charge. Each further charge succeeds, so a repeat shows. */
export interface Drop {
  readonly connection: (typeof connections)[number];
  /** What the service has read or written when it drops the connection. `accept` on a reused connection: its last response. */
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

/** Statuses after which a runtime or a proxy might send a request again. */
export const everyStatus: readonly OnlyStatus[] = [307, 308, 401, 408, 421, 425, 503].map((status) => ({
  connection: 'reused after a read',
  status,
}));

/** The counts of a service, without the requests before the tested charge. */
export interface ChargeCounts {
  /** Charges of which at least one byte came in. */
  charges: number;
  /** Charges with a success response. */
  charged: number;
  connections: number;
  /** Whether the connection was dropped, or the status sent. */
  hasFaulted: boolean;
}

/**
 * Starts a service that drops a connection at one point of a charge, or responds to it with one status. The programs of
 * test/e2e/package use it from every runtime. It is stopped when the test ends.
 */
export async function startDroppingService(
  fault: Drop | OnlyStatus,
): Promise<{ baseUrl: string; seen: ChargeCounts }> {
  const seen: ChargeCounts = { charges: 0, charged: 0, connections: 0, hasFaulted: false };
  const isFresh = fault.connection === 'fresh';
  let chargesBefore = fault.connection === 'reused after a charge' ? 1 : 0;

  const accept = (socket: Socket) => {
    let text = '';
    let isTested = false;
    let isDropped = false;
    const drop = (written: string) => {
      isDropped = true;
      seen.hasFaulted = true;
      socket.write(written, () => close(socket, fault));
    };
    const respond = () => {
      if (isTested && 'status' in fault && !seen.hasFaulted) {
        seen.hasFaulted = true;
        socket.write(formatStatus(fault.status));
        return;
      }
      if (isTested) seen.charged++;
      const response = createResponse(text, isTested);
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
    const onData = (chunk: string) => {
      text += chunk;
      countCharge();
      if (isDropped) return;
      const written = isTested && !seen.hasFaulted ? findLastBytes(fault, text) : undefined;
      if (written !== undefined) drop(written);
      else if (isWholeRequest(text)) finish();
    };
    seen.connections++;
    socket.on('end', () => socket.destroy());
    socket.setEncoding('latin1').on('data', onData);
    if (isFresh && isAtAccept(fault) && !seen.hasFaulted) drop('');
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  const port = await listenForTest(server);
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, seen };
}

function createResponse(request: string, isTested: boolean): string {
  if (!request.startsWith('POST')) return VERIFIED;
  return isTested ? CHARGED : CHARGED_BEFORE;
}

const isAtAccept = (fault: Drop | OnlyStatus) => 'point' in fault && fault.point === 'accept';

function close(socket: Socket, fault: Drop | OnlyStatus): void {
  if (!('manner' in fault)) return;
  if (fault.manner === 'FIN') socket.end();
  if (fault.manner === 'RST') socket.resetAndDestroy();
}

/** Returns what the service writes before it drops the connection, or `undefined` before its point is reached. */
function findLastBytes(fault: Drop | OnlyStatus, text: string): string | undefined {
  if (!('point' in fault)) return undefined;
  switch (fault.point) {
    case 'accept':
      return undefined;
    case 'first byte':
      return '';
    case 'headers':
      return text.includes('\r\n\r\n') ? '' : undefined;
    case 'request':
      return isWholeRequest(text) ? '' : undefined;
    case 'response headers':
      return isWholeRequest(text) ? CHARGED.slice(0, 20) : undefined;
    case 'response body':
      return isWholeRequest(text) ? CHARGED.slice(0, -3) : undefined;
  }
}

const CHARGED = formatSuccess(successBodies.chargeMobileMoney());
/** Of another charge, so of another transaction. */
const CHARGED_BEFORE = formatSuccess(successBodies.chargeMobileMoney({ reference: 'TXN-before' }));
const VERIFIED = formatSuccess(successBodies.verify());

const formatStatus = (status: number) =>
  `HTTP/1.1 ${status} Test\r\nlocation: /api/v1/elsewhere\r\nretry-after: 0\r\nwww-authenticate: Bearer\r\ncontent-length: 2\r\n\r\n{}`;
