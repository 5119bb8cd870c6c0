import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

/** How a service goes away: it closes, it resets, or it stays and says nothing more. */
export const manners = ['FIN', 'RST', 'silence'] as const;
export type Manner = (typeof manners)[number];

/** Where a service goes away: after so many bytes of the request were read, or of the answer written. */
export interface Cut {
  manner: Manner;
  side: 'request' | 'answer';
  bytes: number;
}

/** An answer as it goes over the wire, and whether something was created for it. */
export interface RawAnswer {
  status: number;
  bytes: Buffer;
  headLength: number;
  creates: boolean;
  endsByClosing: boolean;
}

export type Framing = 'content-length' | 'chunked' | 'gzip' | 'until-close';

export function rawAnswer(status: number, body: unknown, framing: Framing, creates: boolean): RawAnswer {
  const text = Buffer.from(JSON.stringify(body));
  const content = framing === 'gzip' ? gzipSync(text) : text;
  const fields = {
    'content-length': `content-length: ${content.length}\r\n`,
    chunked: 'transfer-encoding: chunked\r\n',
    gzip: 'content-encoding: gzip\r\ntransfer-encoding: chunked\r\n',
    'until-close': 'connection: close\r\n',
  };
  const head = Buffer.from(
    `HTTP/1.1 ${status} Said\r\ncontent-type: application/json\r\n${fields[framing]}\r\n`,
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

/** A request of which at least one byte came in, on the connection of that number. */
interface Arrival {
  connection: number;
  length: number | undefined;
}

export interface TcpService {
  baseUrl: string;
  /** How many charges or payments were made. */
  readonly created: number;
  readonly arrivals: readonly Arrival[];
  /** The next request gets this answer, as far as the cut lets it; those after it are served as usual. */
  plan(cut: Cut, answer: RawAnswer): void;
  /** Goes away from everyone who is connected. */
  leave(manner: Manner): void;
  /** Begins anew, with no connection and nothing counted. */
  renew(): Promise<void>;
  /** Accepts no more connections; those it has stay. Its port stays taken, so that nobody else comes to listen there. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

interface Plan {
  cut: Cut;
  answer: RawAnswer;
}

/** The service goes away before it has read the whole of a request of that length. */
const isInside = ({ side, bytes }: Cut, length: number) => side === 'request' && bytes < length;

/** HTTP/1.1 by hand, so that the service can go away at any byte. `usual` answers what nothing is planned for. */
export async function startTcpService(usual: (head: string) => RawAnswer): Promise<TcpService> {
  const open = new Map<Socket, (manner: Manner) => void>();
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
    let gone = false;

    const leave = (manner: Manner) => {
      gone = true;
      if (manner === 'FIN') socket.end();
      if (manner === 'RST') socket.resetAndDestroy();
    };
    const begin = () => {
      plan = gone ? undefined : takePlan();
      arrival = { connection, length: undefined };
      arrivals.push(arrival);
      return arrival;
    };
    const answer = ({ bytes, creates }: RawAnswer, cut: Cut | undefined) => {
      if (creates) created++;
      read = Buffer.alloc(0);
      arrival = undefined;
      if (!cut) return socket.write(bytes);
      if (cut.side === 'request') return leave(cut.manner);
      return socket.write(bytes.subarray(0, cut.bytes), () => setImmediate(leave, cut.manner));
    };

    open.set(socket, leave);
    socket.on('close', () => open.delete(socket));
    // A reset, because thousands of connections would otherwise each keep a port for a minute.
    socket.on('end', () => socket.resetAndDestroy());
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      const current = arrival ?? begin();
      if (gone) return;
      read = Buffer.concat([read, bytes]);
      current.length = requestLength(read);
      const { length = Number.POSITIVE_INFINITY } = current;
      const cut = plan?.cut;
      if (cut && isInside(cut, length) && read.length >= cut.bytes) leave(cut.manner);
      else if (read.length >= length) answer(plan?.answer ?? usual(read.toString('latin1')), cut);
    });
    if (planned && isInside(planned.cut, 1)) leave(takePlan()?.cut.manner ?? 'silence');
  };

  const leave = (manner: Manner) => {
    for (const leaveOne of open.values()) leaveOne(manner);
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    get created() {
      return created;
    },
    arrivals,
    plan(cut, answer) {
      planned = { cut, answer };
    },
    leave,
    async renew() {
      leave('RST');
      planned = undefined;
      await turns();
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
}

/** The event loop takes in what has happened to the connections, on this side and on fetch's. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** The length of the request at the beginning of what was read, once it is whole. */
function requestLength(read: Buffer): number | undefined {
  const headEnd = read.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, declared = '0'] = /\r\ncontent-length: (\d+)/i.exec(read.toString('latin1', 0, headEnd)) ?? [];
  const length = headEnd + 4 + Number(declared);
  return read.length >= length ? length : undefined;
}
