import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { measureRequest } from './http-messages.ts';
import { startListening } from './start-listening.ts';

/** How the service ends a connection: it closes, it resets, or it stays open and sends nothing more. */
export const closeKinds = ['FIN', 'RST', 'silence'] as const;
export type CloseKind = (typeof closeKinds)[number];

/** Where the service ends a connection: after this many bytes of the request are read, or of the response written. */
export interface Cut {
  manner: CloseKind;
  side: 'request' | 'response';
  bytes: number;
}

/** A response as it is on the wire, and whether the service creates something for it. */
export interface RawResponse {
  status: number;
  bytes: Buffer;
  headLength: number;
  creates: boolean;
  endsByClosing: boolean;
}

export type Framing = 'content-length' | 'chunked' | 'gzip' | 'until-close';

export function createRawResponse(
  status: number,
  body: unknown,
  framing: Framing,
  creates: boolean,
): RawResponse {
  const text = Buffer.from(JSON.stringify(body));
  const content = framing === 'gzip' ? gzipSync(text) : text;
  const fields = {
    'content-length': `content-length: ${content.length}\r\n`,
    chunked: 'transfer-encoding: chunked\r\n',
    gzip: 'content-encoding: gzip\r\ntransfer-encoding: chunked\r\n',
    'until-close': 'connection: close\r\n',
  };
  const head = Buffer.from(
    `HTTP/1.1 ${status} Test\r\ncontent-type: application/json\r\n${fields[framing]}\r\n`,
  );
  const inChunks = framing === 'chunked' || framing === 'gzip';
  return {
    status,
    bytes: Buffer.concat([head, inChunks ? chunked(content) : content]),
    headLength: head.length,
    creates,
    endsByClosing: framing === 'until-close',
  };
}

function chunked(content: Buffer): Buffer {
  const middle = Math.floor(content.length / 2);
  const chunks = [content.subarray(0, middle), content.subarray(middle)];
  const framed = chunks.map((chunk) =>
    Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk]),
  );
  return Buffer.concat([
    ...framed.flatMap((chunk) => [chunk, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ]);
}

/** A request of which at least one byte came in, with the number of its connection. */
interface Arrival {
  connection: number;
  length: number | undefined;
}

export interface TcpService {
  baseUrl: string;
  /** How many charges or payments the service created. */
  readonly created: number;
  readonly arrivals: readonly Arrival[];
  /** Sets the response of the next request, and where its connection ends. Later requests get the usual response. */
  plan(cut: Cut, response: RawResponse): void;
  /** Ends every connection. */
  leave(manner: CloseKind): void;
  /** Ends every connection and resets the counts. */
  renew(): Promise<void>;
  /** Accepts no more connections. Open ones stay. The port stays in use, so that no other process can listen on it. */
  close(): Promise<void>;
  /** Is called when a request gets nothing more, and its connection stays open. */
  onSilence: () => void;
  stop(): Promise<void>;
}

interface Plan {
  cut: Cut;
  response: RawResponse;
}

/** Whether the connection ends before a request of that length is whole. */
const isInside = ({ side, bytes }: Cut, length: number) => side === 'request' && bytes < length;

const isWhole = ({ side, bytes }: Cut, response: RawResponse) =>
  side === 'response' && bytes === response.bytes.length && !response.endsByClosing;

/**
 * Starts a service that can end a connection at any byte of a request or a response. `usual` gives the response of requests
 * without a plan. The caller stops the service.
 */
export async function startTcpService(usual: (head: string) => RawResponse): Promise<TcpService> {
  const open = new Map<Socket, (manner: CloseKind) => void>();
  const arrivals: Arrival[] = [];
  let planned: Plan | undefined;
  const holding: Socket[] = [];
  let isClosing = false;
  let connections = 0;
  let created = 0;

  const takePlan = () => {
    const plan = planned;
    planned = undefined;
    return plan;
  };

  const accept = (socket: Socket) => {
    if (isClosing) {
      holding.push(socket);
      return;
    }
    const connection = ++connections;
    let read = Buffer.alloc(0);
    let arrival: Arrival | undefined;
    let plan: Plan | undefined;
    let gone: CloseKind | undefined;

    const leave = (manner: CloseKind) => {
      gone = manner;
      if (manner === 'FIN') socket.end();
      if (manner === 'RST') socket.resetAndDestroy();
    };
    const leaveRequest = (manner: CloseKind) => {
      leave(manner);
      if (manner === 'silence') service.onSilence();
    };
    const begin = () => {
      plan = gone ? undefined : takePlan();
      arrival = { connection, length: undefined };
      arrivals.push(arrival);
      if (gone === 'silence') service.onSilence();
      return arrival;
    };
    const respond = (response: RawResponse, cut: Cut | undefined) => {
      const { bytes, creates } = response;
      if (creates) created++;
      read = Buffer.alloc(0);
      arrival = undefined;
      if (!cut) return socket.write(bytes);
      if (cut.side === 'request') return leaveRequest(cut.manner);
      const end = isWhole(cut, response) ? leave : leaveRequest;
      return socket.write(bytes.subarray(0, cut.bytes), () => setImmediate(end, cut.manner));
    };

    open.set(socket, leave);
    socket.on('close', () => open.delete(socket));
    // A reset, because each of thousands of closed connections would keep its port for a minute.
    socket.on('end', () => socket.resetAndDestroy());
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      const current = arrival ?? begin();
      if (gone) return;
      read = Buffer.concat([read, bytes]);
      current.length = measureRequest(read);
      const { length = Number.POSITIVE_INFINITY } = current;
      const cut = plan?.cut;
      if (cut && isInside(cut, length) && read.length >= cut.bytes) leaveRequest(cut.manner);
      else if (read.length >= length) respond(plan?.response ?? usual(read.toString('latin1')), cut);
    });
    if (planned && isInside(planned.cut, 1)) leave(takePlan()?.cut.manner ?? 'silence');
  };

  const leave = (manner: CloseKind) => {
    for (const leaveOne of open.values()) leaveOne(manner);
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  const { port } = await startListening(server);
  const service: TcpService = {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    onSilence: () => {},
    get created() {
      return created;
    },
    arrivals,
    plan(cut, response) {
      planned = { cut, response };
    },
    leave,
    async renew() {
      leave('RST');
      planned = undefined;
      await flushEventLoop();
      arrivals.length = 0;
      connections = 0;
      created = 0;
    },
    async close() {
      isClosing = true;
      holding.push(connect(port, '127.0.0.1'));
      await once(server, 'connection');
      server.close();
    },
    stop() {
      leave('RST');
      for (const socket of holding) socket.resetAndDestroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return service;
}

/** Lets the event loop notice what happened to the connections, on this side and on fetch's. */
export async function flushEventLoop(turns = 4): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
