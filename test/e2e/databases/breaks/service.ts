import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as z from 'zod';
import { startListening } from '../../../helpers/start-listening.ts';
import { EMAIL } from '../shop.ts';

/** A request for a charge that has arrived. Nothing is charged until it is accepted. */
export interface CaughtPost {
  readonly phone: string | undefined;
  /** Makes the charge, under a new reference unless one is given, and responds. */
  accept(reference?: string): string;
  refuse(status: number): void;
}

/** A service that does what a test says, for the processes of a shop. Its ledger is the truth. */
export interface BreakService {
  readonly baseUrl: string;
  /** Returns the references that charges of an order were accepted under, one for each POST. */
  chargesFor(order: string): readonly string[];
  /** Returns the next request for a charge of an order, once it has arrived. All others are accepted at once. */
  catchPost(order: string): Promise<CaughtPost>;
  /** Holds the next check of a transaction. Resolves, once it has arrived, with what responds to it with the status of then. */
  catchCheck(reference: string): Promise<() => void>;
  setStatus(reference: string, status: string): void;
  stop(): Promise<void>;
}

interface Transaction {
  readonly reference: string;
  readonly amount: string;
  readonly currency: string;
  readonly status: string;
}

const bodySchema = z.object({ order: z.string(), amount: z.number(), phone: z.optional(z.string()) });

/** Starts a service. With `isAlwaysPaid`, it knows every reference, and each is paid. */
export async function startBreakService({ isAlwaysPaid = false } = {}): Promise<BreakService> {
  const transactions = new Map<string, Transaction>();
  const charges = new Map<string, string[]>();
  const posts = new Waiting<CaughtPost>();
  const checks = new Waiting<() => void>();
  let count = 0;

  const charge = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { order, amount, phone } = bodySchema.parse(JSON.parse(body));
    const isPage = request.url?.endsWith('initialize') ?? false;
    const post: CaughtPost = {
      phone,
      accept(reference = `TXN-${order}-${++count}`) {
        const made = { reference, amount: amount.toFixed(2), currency: 'GHS', status: 'processing' };
        if (!transactions.has(reference)) transactions.set(reference, made);
        charges.set(order, [...(charges.get(order) ?? []), reference]);
        const page = isPage && { checkout_url: `https://pay.example/checkout/${reference}` };
        respond(response, 200, { ...made, ...page });
        return reference;
      },
      refuse: (status) => respond(response, status),
    };
    if (!posts.resolve(order, post)) post.accept();
  };

  const verify = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const reference = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    const check = () => {
      const found = isAlwaysPaid
        ? { reference, amount: '25.50', currency: 'GHS', status: 'success' }
        : transactions.get(reference);
      if (!found) return respond(response, 404);
      const paid_at = found.status === 'success' ? new Date().toISOString() : null;
      respond(response, 200, { ...found, customer_email: EMAIL, paid_at });
    };
    if (!checks.resolve(reference, check)) check();
  };

  const server = createServer((request, response) => {
    if (request.method === 'GET') return verify(request, response);
    charge(request, response).catch(() => response.destroy());
  });
  const { port, stop } = await startListening(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    chargesFor: (order) => charges.get(order) ?? [],
    catchPost: (order) => posts.wait(order),
    catchCheck: (reference) => checks.wait(reference),
    setStatus(reference, status) {
      const found = transactions.get(reference);
      if (!found) throw new Error(`There is no transaction ${reference}.`);
      transactions.set(reference, { ...found, status });
    },
    stop,
  };
}

/** What tests wait for, by name. */
class Waiting<T> {
  readonly #resolvers = new Map<string, ((value: T) => void)[]>();

  wait(name: string): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#resolvers.set(name, [...(this.#resolvers.get(name) ?? []), resolve]);
    return promise;
  }

  /** Whether anybody waited for it. */
  resolve(name: string, value: T): boolean {
    const resolve = this.#resolvers.get(name)?.shift();
    resolve?.(value);
    return resolve !== undefined;
  }
}

function respond(response: ServerResponse, status: number, data?: object): void {
  const body = data ? { status: true, message: 'OK', data } : { status: false, message: 'It was refused.' };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
