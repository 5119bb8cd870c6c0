import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startListening } from '../../helpers/start-listening.ts';
import { pickWeighted, seededRandom } from './seeded-random.ts';

/** A charge that the service has made. */
export interface Charge {
  readonly key: string;
  readonly call: string;
  readonly generation: number;
  readonly reference: string;
  readonly amount: string;
  /** Whether the response named another amount. */
  readonly isMisquoted: boolean;
}

/** A service in the harness's own process, which is never killed: its ledger is the truth. */
export interface CrashService {
  readonly baseUrl: string;
  readonly charges: readonly Charge[];
  readonly faults: ReadonlyMap<ResponseKind, number>;
  chargesFor(key: string): readonly Charge[];
  /** How many requests for this key have come in. */
  requestsFor(key: string): number;
  /** Whether a request for this key is being handled now. */
  isBusyWith(key: string): boolean;
  stop(): Promise<void>;
}

/** How often the service responds in each way, in percent. */
const responseWeights = {
  success: 56,
  'late success': 5,
  'reset before accepting': 4,
  'reset after accepting': 4,
  'response lost': 4,
  'hang before accepting': 1,
  'hang after accepting': 2,
  '429': 4,
  '400': 3,
  'status false': 3,
  '503 before accepting': 2,
  '500 after accepting': 3,
  '502 after accepting': 3,
  'JSON cut short': 3,
  'wrong amount': 3,
};

type ResponseKind = keyof typeof responseWeights;

const requestSchema = z.object({ order: z.string(), amount: z.number() });

type OnRequest = (point: 'accepted' | 'response sent', generation: number) => void;

/** What a run with follow-ups needs of the service. */
export interface ServiceOptions {
  /** How often the service responds to a charge in each way. */
  weights?: Readonly<Record<ResponseKind, number>> | undefined;
  /** Called for each charge that is made. */
  onCharge?: ((charge: Charge) => void) | undefined;
  /** Handles the requests for a status. Without it there are none. */
  onVerify?: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
}

export async function startCrashService(
  seed: number,
  onRequest: OnRequest,
  { weights = responseWeights, onCharge, onVerify }: ServiceOptions = {},
): Promise<CrashService> {
  const charges: Charge[] = [];
  const byKey = new Map<string, Charge[]>();
  const requests = new Map<string, number>();
  const busy = new Map<string, number>();
  const faults = new Map<ResponseKind, number>();

  const accept = (charge: Omit<Charge, 'reference'>): Charge => {
    const made = { ...charge, reference: `TXN-${charge.key}-${charges.length + 1}` };
    charges.push(made);
    byKey.set(made.key, [...(byKey.get(made.key) ?? []), made]);
    onCharge?.(made);
    onRequest('accepted', made.generation);
    return made;
  };

  const handle = async (response: ServerResponse, charge: Omit<Charge, 'reference' | 'isMisquoted'>) => {
    const { key } = charge;
    const count = (requests.get(key) ?? 0) + 1;
    requests.set(key, count);
    const isRejected = seededRandom(seed, 'rejected', key) < 0.03;
    const kind = isRejected ? '400' : pickWeighted(weights, seededRandom(seed, 'kind', key, count));
    faults.set(kind, (faults.get(kind) ?? 0) + 1);
    await sleep(seededRandom(seed, 'delay', key, count) * (kind === 'late success' ? 400 : 12));
    respond[kind](response, () => accept({ ...charge, isMisquoted: kind === 'wrong amount' }));
    if (!response.destroyed) response.once('finish', () => onRequest('response sent', charge.generation));
  };

  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return onVerify?.(request, response);
    const { 'x-call': call, 'x-generation': generation } = request.headers;
    let body = '';
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      // The connection ended before the request was whole: it makes no charge.
      return;
    }
    const { order: key, amount } = requestSchema.parse(JSON.parse(body));
    busy.set(key, (busy.get(key) ?? 0) + 1);
    await handle(response, {
      key,
      call: String(call),
      generation: Number(generation),
      amount: amount.toFixed(2),
    });
    busy.set(key, (busy.get(key) ?? 0) - 1);
  });
  const { port, stop } = await startListening(server);

  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    charges,
    faults,
    chargesFor: (key) => byKey.get(key) ?? [],
    requestsFor: (key) => requests.get(key) ?? 0,
    isBusyWith: (key) => (busy.get(key) ?? 0) > 0,
    async stop() {
      await stop();
      // Requests that came in before are handled to their end.
      while ([...busy.values()].some((count) => count > 0)) await sleep(10);
    },
  };
}

type Respond = (response: ServerResponse, accept: () => Charge) => void;

const respond: Record<ResponseKind, Respond> = {
  success: (response, accept) => json(response, 200, successBody(accept())),
  'late success': (response, accept) => json(response, 200, successBody(accept())),
  'reset before accepting': (response) => reset(response),
  'reset after accepting': (response, accept) => {
    accept();
    reset(response);
  },
  'response lost': (response, accept) => {
    accept();
    response.socket?.end();
  },
  'hang before accepting': () => {},
  'hang after accepting': (_, accept) => {
    accept();
  },
  '429': (response) => json(response, 429, { status: false, message: 'Too many requests' }),
  '400': (response) => json(response, 400, { status: false, message: 'Rejected' }),
  'status false': (response) => json(response, 200, { status: false, message: 'The network is down' }),
  '503 before accepting': (response) => json(response, 503, { message: 'Down for maintenance' }),
  '500 after accepting': (response, accept) => {
    accept();
    json(response, 500, { message: 'Internal error' });
  },
  '502 after accepting': (response, accept) => {
    accept();
    response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
  },
  'JSON cut short': (response, accept) => {
    const text = JSON.stringify(successBody(accept()));
    response.writeHead(200, { 'content-type': 'application/json' }).end(text.slice(0, text.length / 2));
  },
  'wrong amount': (response, accept) => {
    const charge = accept();
    json(response, 200, successBody({ ...charge, amount: (Number(charge.amount) + 10).toFixed(2) }));
  },
};

function successBody({ reference, amount }: Charge) {
  return {
    status: true,
    message: "A prompt has been sent to the customer's phone.",
    data: { reference, status: 'processing', amount, currency: 'GHS' },
  };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function reset({ socket }: ServerResponse): void {
  socket?.resetAndDestroy();
}
