import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { chance, pick } from './chance.ts';

/** A charge that the service has made. */
export interface Charge {
  readonly key: string;
  readonly call: string;
  readonly generation: number;
  readonly reference: string;
  readonly amount: string;
}

/** A service in the harness's own process, which is never killed: its ledger is the truth. */
export interface CrashService {
  readonly baseUrl: string;
  readonly charges: readonly Charge[];
  readonly faults: ReadonlyMap<Manner, number>;
  chargesFor(key: string): readonly Charge[];
  /** How many requests for this key have come in. */
  requestsFor(key: string): number;
  /** Whether a request for this key is being handled at this moment. */
  isBusyWith(key: string): boolean;
  stop(): Promise<void>;
}

/** How often a request is met in which way, out of a hundred. */
const manners = {
  answer: 56,
  'answer late': 5,
  'reset before accepting': 4,
  'reset after accepting': 4,
  'answer lost': 4,
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

type Manner = keyof typeof manners;

const requestSchema = z.object({ order: z.string(), amount: z.number() });

type Watch = (moment: 'accepted' | 'answered', generation: number) => void;

export async function startCrashService(seed: number, watch: Watch): Promise<CrashService> {
  const charges: Charge[] = [];
  const byKey = new Map<string, Charge[]>();
  const requests = new Map<string, number>();
  const busy = new Map<string, number>();
  const faults = new Map<Manner, number>();

  const accept = (charge: Omit<Charge, 'reference'>): Charge => {
    const made = { ...charge, reference: `TXN-${charge.key}-${charges.length + 1}` };
    charges.push(made);
    byKey.set(made.key, [...(byKey.get(made.key) ?? []), made]);
    watch('accepted', made.generation);
    return made;
  };

  const handle = async (response: ServerResponse, charge: Omit<Charge, 'reference'>) => {
    const { key } = charge;
    const count = (requests.get(key) ?? 0) + 1;
    requests.set(key, count);
    const isRefused = chance(seed, 'refused', key) < 0.03;
    const manner = isRefused ? '400' : pick(manners, chance(seed, 'manner', key, count));
    faults.set(manner, (faults.get(manner) ?? 0) + 1);
    await sleep(chance(seed, 'delay', key, count) * (manner === 'answer late' ? 400 : 12));
    endings[manner](response, () => accept(charge));
    if (!response.destroyed) response.once('finish', () => watch('answered', charge.generation));
  };

  const server = createServer(async (request, response) => {
    const { 'x-call': call, 'x-generation': generation } = request.headers;
    let body = '';
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      // Cut off before it was whole: such a request is nobody's charge.
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the service has no port');

  return {
    baseUrl: `http://127.0.0.1:${address.port}/api/v1`,
    charges,
    faults,
    chargesFor: (key) => byKey.get(key) ?? [],
    requestsFor: (key) => requests.get(key) ?? 0,
    isBusyWith: (key) => (busy.get(key) ?? 0) > 0,
    async stop() {
      if (server.listening) {
        server.close();
        server.closeAllConnections();
        await once(server, 'close');
      }
      // What had been taken in is handled to its end.
      while ([...busy.values()].some((count) => count > 0)) await sleep(10);
    },
  };
}

type Ending = (response: ServerResponse, accept: () => Charge) => void;

const endings: Record<Manner, Ending> = {
  answer: (response, accept) => json(response, 200, taken(accept())),
  'answer late': (response, accept) => json(response, 200, taken(accept())),
  'reset before accepting': (response) => reset(response),
  'reset after accepting': (response, accept) => {
    accept();
    reset(response);
  },
  'answer lost': (response, accept) => {
    accept();
    response.socket?.end();
  },
  'hang before accepting': () => {},
  'hang after accepting': (_, accept) => {
    accept();
  },
  '429': (response) => json(response, 429, { status: false, message: 'Too many requests' }),
  '400': (response) => json(response, 400, { status: false, message: 'Not today' }),
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
    const text = JSON.stringify(taken(accept()));
    response.writeHead(200, { 'content-type': 'application/json' }).end(text.slice(0, text.length / 2));
  },
  'wrong amount': (response, accept) => {
    const charge = accept();
    json(response, 200, taken({ ...charge, amount: (Number(charge.amount) + 10).toFixed(2) }));
  },
};

function taken({ reference, amount }: Charge) {
  return {
    status: true,
    message: "A prompt has been sent to the customer's phone.",
    data: { reference, status: 'processing', amount, currency: 'GHS' },
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function reset({ socket }: ServerResponse): void {
  socket?.resetAndDestroy();
}
