import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startListening } from '../../helpers/start-listening.ts';
import { EMAIL } from './shop.ts';

/** A service that makes a charge for every POST, and counts them. */
export interface CountingService {
  readonly baseUrl: string;
  /** Returns the references of the charges of an order. */
  chargesFor(key: string): readonly string[];
  /** Holds back the responses to an order's charges until the returned function is called. */
  hold(key: string): () => void;
  stop(): Promise<void>;
}

/** How long a charge takes, in milliseconds: long enough for many callers to come in meanwhile. */
const CHARGE_TIME = 200;

const requestSchema = z.object({ order: z.string() });

export async function startCountingService(): Promise<CountingService> {
  const charges = new Map<string, string[]>();
  const held = new Map<string, Promise<void>>();

  const charge = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { order } = requestSchema.parse(JSON.parse(body));
    const reference = `TXN-${order}-${(charges.get(order)?.length ?? 0) + 1}`;
    charges.set(order, [...(charges.get(order) ?? []), reference]);
    await sleep(CHARGE_TIME);
    await held.get(order);
    sendData(response, { reference, status: 'processing' });
  };

  const verify = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const reference = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    const paidAt = new Date().toISOString();
    sendData(response, { reference, status: 'success', customer_email: EMAIL, paid_at: paidAt });
  };

  const server = createServer((request, response) => {
    if (request.method === 'GET') return verify(request, response);
    charge(request, response).catch(() => response.destroy());
  });
  const { port, stop } = await startListening(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    chargesFor: (key) => charges.get(key) ?? [],
    hold(key) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(key, promise);
      return resolve;
    },
    stop,
  };
}

function sendData(response: ServerResponse, data: object): void {
  const body = { status: true, message: 'OK', data: { amount: '25.50', currency: 'GHS', ...data } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
