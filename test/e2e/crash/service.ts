/** The service of a run, in a process that is never killed: its ledger is the truth. */

import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startListening } from '../../helpers/start-listening.ts';
import { EMAIL, type KillPoint, PHONE, pickWeighted, seededRandom } from './plan.ts';

/** A charge that the service has made. */
export interface Charge {
  /** The order or the idempotency key that it was asked for, as the request says. */
  readonly name: string;
  readonly requestId: string;
  /** The call that asked for it. */
  readonly call: string;
  readonly reference: string;
  readonly amount: string;
  /** When the charge was made, and when it ended how, in milliseconds since 1970. */
  readonly at: number;
  readonly endsAt: number;
  readonly end: 'success' | 'failed';
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

const bodySchema = z.object({ name: z.string(), amount: z.number() });

interface ServiceOptions {
  readonly seed: number;
  onRequest(point: KillPoint, generation: number): void;
}

export async function startService({ seed, onRequest }: ServiceOptions) {
  const charges: Charge[] = [];
  let requests = 0;

  const accept = (asked: Pick<Charge, 'name' | 'requestId' | 'call' | 'amount'>): Charge => {
    const number = charges.length + 1;
    const at = Date.now();
    const endsAt = at + 300 + seededRandom(seed, 'final', number) * 2_500;
    const end = seededRandom(seed, 'end', number) < 0.6 ? 'success' : 'failed';
    const charge: Charge = { ...asked, reference: `TXN-${number}x`, at, endsAt, end };
    charges.push(charge);
    return charge;
  };

  const server = createServer(async (request, response) => {
    // The connection of a process that was killed ends before its request is whole.
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const { 'x-generation': generation, 'x-request-id': requestId, 'x-call': call } = request.headers;
    const random = (what: string, part: string) => seededRandom(seed, what, part, ++requests);
    const delay = async (kind: string, part: string) =>
      sleep(random('delay', part) * (kind === 'late' ? 400 : 10));
    response.once('finish', () => onRequest('response sent', Number(generation)));
    if (request.method === 'GET') {
      onRequest('request received', Number(generation));
      const reference = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
      const kind = pickWeighted(checkWeights, random('check', reference));
      await delay(kind, reference);
      respondToCheck(
        kind,
        response,
        charges.find((made) => made.reference === reference),
      );
      return;
    }
    const { name, amount } = bodySchema.parse(JSON.parse(body));
    const kind = pickWeighted(chargeWeights, random('charge', name));
    await delay(kind, name);
    respondToCharge(kind, response, () => {
      const ids = { requestId: String(requestId), call: String(call) };
      const charge = accept({ name, amount: amount.toFixed(2), ...ids });
      onRequest('request received', Number(generation));
      return charge;
    });
  });
  const { port, stop } = await startListening(server);
  // It stops once all requests that came in are handled.
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, charges, stop };
}

export const readStatus = ({ end, endsAt }: Charge, now: number) => (now >= endsAt ? end : 'pending');

function respondToCharge(
  kind: keyof typeof chargeWeights,
  response: ServerResponse,
  accept: () => Charge,
): unknown {
  if (kind === '429' || kind === '400') return sendJson(response, Number(kind), { message: 'Refused' });
  if (kind === 'reset before accepting') return response.socket?.resetAndDestroy();
  const { reference, amount } = accept();
  if (kind === 'reset after accepting') return response.socket?.resetAndDestroy();
  if (kind === 'hang after accepting') return undefined;
  if (kind === '500 after accepting') return sendJson(response, 500, { message: 'Internal error' });
  const data = { reference, amount, currency: 'GHS', status: 'processing' };
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
  const { reference, amount } = charge;
  const status = readStatus(charge, Date.now());
  const paid_at = status === 'success' ? new Date().toISOString() : null;
  // A service might repeat what it was sent: none of it may get into a record.
  const customer = { customer_email: EMAIL, phone: PHONE };
  const data = { reference, status, amount, currency: 'GHS', paid_at, ...customer };
  return sendJson(response, 200, { status: true, data });
}

const sendJson = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
