import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startListening } from '../../../helpers/start-listening.ts';
import { pickWeighted, seededRandom } from '../seeded-random.ts';
import { json, reset } from '../service.ts';

/** A payment that the service has begun. */
export interface MadePayment {
  readonly order: string;
  readonly requestId: string;
  readonly reference: string;
  readonly amount: string;
  /** Whether the customer wanted another payment. */
  readonly startAnother: boolean;
  /** When the press began, and when the service began the payment. */
  readonly pressedAt: number;
  readonly at: number;
  readonly statuses: readonly { readonly from: number; readonly status: string }[];
}

const fates = {
  success: 40,
  failed: 30,
  abandoned: 8,
  /** Success after the page was abandoned. */
  'success after all': 10,
  stuck: 12,
};

const responses = {
  success: 76,
  'late success': 5,
  'reset before accepting': 4,
  'reset after accepting': 3,
  'response lost': 3,
  '429': 3,
  '400': 4,
  '500 after accepting': 2,
};

const bodySchema = z.object({
  order: z.string(),
  pressedAt: z.number(),
  startAnother: z.boolean(),
  amount: z.number(),
});

/** The service of a run of orders. It is never killed: its ledger is the truth. */
export class OrderService {
  readonly made: MadePayment[] = [];
  readonly #seed: number;
  readonly #onRequest: (point: 'accepted' | 'response sent', generation: number) => void;
  readonly #server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { 'x-generation': generation, 'x-request-id': requestId } = request.headers;
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
      if (pathname === '/found') this.#find(searchParams.getAll('id'), response);
      else if (request.method === 'GET') this.#verify(pathname, response);
      else
        void this.#charge(response, {
          ...bodySchema.parse(JSON.parse(body)),
          requestId: String(requestId),
          generation: Number(generation),
          isPage: request.url?.endsWith('initialize') ?? false,
        });
    });
  });
  #stop: (() => Promise<void>) | undefined;
  #requests = 0;

  constructor(seed: number, onRequest: (point: 'accepted' | 'response sent', generation: number) => void) {
    this.#seed = seed;
    this.#onRequest = onRequest;
  }

  async start(): Promise<string> {
    const { port, stop } = await startListening(this.#server);
    this.#stop = stop;
    return `http://127.0.0.1:${port}/api/v1`;
  }

  async stop(): Promise<void> {
    await this.#stop?.();
  }

  async #charge(
    response: ServerResponse,
    {
      order,
      pressedAt,
      startAnother,
      amount,
      requestId,
      generation,
      isPage,
    }: z.infer<typeof bodySchema> & {
      requestId: string;
      generation: number;
      isPage: boolean;
    },
  ): Promise<void> {
    const count = ++this.#requests;
    const kind = pickWeighted(responses, seededRandom(this.#seed, 'kind', order, count));
    await sleep(seededRandom(this.#seed, 'delay', order, count) * (kind === 'late success' ? 300 : 10));
    const accept = () => {
      const made = this.#begin({ order, pressedAt, startAnother, requestId, amount: amount.toFixed(2) });
      this.#onRequest('accepted', generation);
      return made;
    };
    switch (kind) {
      case 'reset before accepting':
        return reset(response);
      case 'reset after accepting':
        accept();
        return reset(response);
      case 'response lost':
        accept();
        response.socket?.end();
        return;
      case '429':
        return json(response, 429, { status: false, message: 'Too many requests' });
      case '400':
        return json(response, 400, { status: false, message: 'Rejected' });
      case '500 after accepting':
        accept();
        return json(response, 500, { message: 'Internal error' });
      case 'success':
      case 'late success': {
        const { reference } = accept();
        const shown = isPage ? { checkout_url: createPageUrl(reference) } : { status: 'processing' };
        json(response, 200, {
          status: true,
          message: 'A prompt has been sent.',
          data: { reference, amount: amount.toFixed(2), currency: 'GHS', ...shown },
        });
        response.once('finish', () => this.#onRequest('response sent', generation));
      }
    }
  }

  #begin(charge: Omit<MadePayment, 'reference' | 'at' | 'statuses'>): MadePayment {
    const number = this.made.length + 1;
    const at = Date.now();
    const fate = pickWeighted(fates, seededRandom(this.#seed, 'fate', number));
    const finalAt = at + 300 + seededRandom(this.#seed, 'final', number) * 2_500;
    const ends: Record<keyof typeof fates, MadePayment['statuses']> = {
      success: [{ from: finalAt, status: 'success' }],
      failed: [{ from: finalAt, status: 'failed' }],
      abandoned: [{ from: finalAt, status: 'abandoned' }],
      'success after all': [
        { from: finalAt, status: 'abandoned' },
        { from: finalAt + 2_500, status: 'success' },
      ],
      stuck: [],
    };
    const made = { ...charge, reference: `TXN-${number}`, at, statuses: ends[fate] };
    this.made.push(made);
    return made;
  }

  /** The service's support finds a transaction by the ids of requests. */
  #find(requestIds: readonly string[], response: ServerResponse): void {
    const made = this.made.find(({ requestId }) => requestIds.includes(requestId));
    json(response, 200, { reference: made?.reference ?? null });
  }

  #verify(url: string, response: ServerResponse): void {
    const reference = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    const made = this.made.find((payment) => payment.reference === reference);
    if (!made) {
      json(response, 404, { status: false, message: 'Not found' });
      return;
    }
    const status = readStatus(made, Date.now());
    json(response, 200, {
      status: true,
      data: {
        reference,
        status,
        amount: made.amount,
        currency: 'GHS',
        customer_email: 'ama@example.com',
        paid_at: status === 'success' ? new Date().toISOString() : null,
      },
    });
  }
}

export function readStatus({ statuses }: MadePayment, now: number): string {
  return statuses.findLast(({ from }) => now >= from)?.status ?? 'pending';
}

export const createPageUrl = (reference: string) => `https://pay.example/checkout/${reference}`;
