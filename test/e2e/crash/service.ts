/** The service of a run, in a process that is never killed: its ledger is the truth. */

import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startListening } from '../../helpers/start-listening.ts';
import { createPageUrl, DEADLINE, EMAIL, type KillPoint, PHONE, pickWeighted, seededRandom } from './plan.ts';

/** A charge that the service has made. */
export interface Charge {
  /** The order or the idempotency key that it was asked for, as the request says. */
  readonly name: string;
  readonly requestId: string;
  /** The call that asked for it. */
  readonly call: string;
  readonly generation: number;
  readonly reference: string;
  readonly amount: string;
  readonly isPage: boolean;
  /** Whether the customer wanted another payment of the order. */
  readonly startAnother: boolean;
  /** When the call began, and when the charge was made, in milliseconds since 1970. */
  readonly pressedAt: number;
  readonly at: number;
  /** Whether the service says another amount from then on. */
  readonly isWrong: boolean;
  readonly statuses: readonly { readonly from: number; readonly status: string }[];
}

export interface CrashService {
  readonly baseUrl: string;
  readonly charges: readonly Charge[];
  /** Resolves once all requests that came in are handled. */
  stop(): Promise<void>;
}

interface ServiceOptions {
  readonly seed: number;
  onRequest?(point: KillPoint, generation: number): void;
  /** A webhook is sent. */
  onWebhook?(reference: string): void;
}

/** How often the service responds to a charge in each way, in percent. */
const chargeWeights = {
  success: 76,
  late: 5,
  'reset before accepting': 4,
  'reset after accepting': 4,
  'hang after accepting': 1,
  '429': 3,
  '400': 4,
  '500 after accepting': 3,
};

/** And to a check. */
const checkWeights = { success: 88, late: 2, reset: 3, '404': 2, '429': 1, '500': 4 };

/** What becomes of a charge, in percent. */
const fates = { success: 48, failed: 22, abandoned: 7, 'success after all': 8, stuck: 8, wrong: 7 };

const bodySchema = z.object({
  name: z.string(),
  pressedAt: z.number().default(0),
  startAnother: z.boolean().default(false),
  amount: z.number(),
});

export async function startService({
  seed,
  onRequest = () => {},
  onWebhook = () => {},
}: ServiceOptions): Promise<CrashService> {
  const charges: Charge[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let requests = 0;

  const accept = (asked: Omit<Charge, 'reference' | 'at' | 'isWrong' | 'statuses'>): Charge => {
    const number = charges.length + 1;
    const at = Date.now();
    const fate = pickWeighted(fates, seededRandom(seed, 'fate', number));
    const charge = {
      ...asked,
      reference: `TXN-${number}x`,
      at,
      isWrong: fate === 'wrong',
      statuses: planStatuses(fate, at + 300 + seededRandom(seed, 'final', number) * 2_500),
    };
    charges.push(charge);
    for (const { from } of charge.statuses)
      if (seededRandom(seed, 'webhook', number, from - at) < 0.3)
        timers.add(setTimeout(() => onWebhook(charge.reference), from - at));
    onRequest('request received', charge.generation);
    return charge;
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://service');
    // The connection of a process that was killed ends before its request is whole.
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    if (url.pathname === '/found') {
      const ids = url.searchParams.getAll('id');
      const found = charges.find(({ requestId }) => ids.includes(requestId));
      sendJson(response, 200, { reference: found?.reference ?? null });
      return;
    }
    const { 'x-generation': generation, 'x-request-id': requestId, 'x-call': call } = request.headers;
    const random = (what: string, part: string) => seededRandom(seed, what, part, ++requests);
    const delay = async (kind: string, part: string) =>
      sleep(random('delay', part) * (kind === 'late' ? 400 : 10));
    response.once('finish', () => onRequest('response sent', Number(generation)));
    if (request.method === 'GET') {
      onRequest('request received', Number(generation));
      const reference = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
      const charge = charges.find((made) => made.reference === reference);
      // After the deadline a check that fails is made again after half a minute, which would make a run longer.
      const isOld = charge !== undefined && Date.now() > charge.at + DEADLINE / 2;
      const kind = isOld ? 'success' : pickWeighted(checkWeights, random('check', reference));
      await delay(kind, reference);
      respondToCheck(kind, response, charge);
      return;
    }
    const { name, pressedAt, startAnother, amount } = bodySchema.parse(JSON.parse(body));
    const kind = pickWeighted(chargeWeights, random('charge', name));
    await delay(kind, name);
    respondToCharge(kind, response, () =>
      accept({
        name,
        pressedAt,
        startAnother,
        amount: amount.toFixed(2),
        requestId: String(requestId),
        call: String(call),
        generation: Number(generation),
        isPage: url.pathname.endsWith('initialize'),
      }),
    );
  });
  const { port, stop } = await startListening(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    charges,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      await stop();
    },
  };
}

function planStatuses(fate: keyof typeof fates, from: number): Charge['statuses'] {
  if (fate === 'stuck') return [];
  if (fate === 'wrong') return [{ from, status: 'success' }];
  if (fate === 'success after all')
    return [
      { from, status: 'abandoned' },
      { from: from + 2_500, status: 'success' },
    ];
  return [{ from, status: fate }];
}

export const readStatus = ({ statuses }: Charge, now: number): string =>
  statuses.findLast(({ from }) => now >= from)?.status ?? 'pending';

function respondToCharge(
  kind: keyof typeof chargeWeights,
  response: ServerResponse,
  accept: () => Charge,
): unknown {
  if (kind === '429' || kind === '400') return sendJson(response, Number(kind), { message: 'Refused' });
  if (kind === 'reset before accepting') return response.socket?.resetAndDestroy();
  const { reference, amount, isPage } = accept();
  if (kind === 'reset after accepting') return response.socket?.resetAndDestroy();
  if (kind === 'hang after accepting') return undefined;
  if (kind === '500 after accepting') return sendJson(response, 500, { message: 'Internal error' });
  const shown = isPage ? { checkout_url: createPageUrl(reference) } : { status: 'processing' };
  const data = { reference, amount, currency: 'GHS', ...shown };
  return sendJson(response, 200, { status: true, message: 'A prompt has been sent.', data });
}

function respondToCheck(
  kind: keyof typeof checkWeights,
  response: ServerResponse,
  charge: Charge | undefined,
): unknown {
  if (kind === 'reset') return response.socket?.resetAndDestroy();
  if (kind === '429' || kind === '500') return sendJson(response, Number(kind), { message: 'Busy' });
  if (kind === '404' || !charge) return sendJson(response, 404, { status: false, message: 'Not found' });
  const status = readStatus(charge, Date.now());
  const data = {
    reference: charge.reference,
    status,
    amount: charge.isWrong ? '99.00' : charge.amount,
    currency: 'GHS',
    // A service might repeat what it was sent: none of it may get into a record.
    customer_email: EMAIL,
    phone: PHONE,
    paid_at: status === 'success' ? new Date().toISOString() : null,
  };
  return sendJson(response, 200, { status: true, data });
}

const sendJson = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
