import { parseJson } from '../../../src/support/untrusted.ts';
import type { DescribedRequest } from './description.ts';

/** How a request fails: with a status after which it can be sent again, or with an error of the connection. */
export type Trouble = 'busy' | 'reset' | 'refused';

interface Money {
  readonly amount: string;
  readonly currency: string;
}

/** Records requests, and responds to each as documented, or with the next trouble. It refuses nothing by itself. */
export class DescribedService {
  readonly requests: DescribedRequest[] = [];
  #troubles: (Trouble | null)[] = [];
  #created = new Map<string, Money>();
  #verified = new Set<string>();
  /** The reference of the latest charge or payment. */
  lastReference = '';

  /** Forgets everything. */
  restart(troubles: readonly (Trouble | null)[]): void {
    this.requests.length = 0;
    this.#troubles = [...troubles];
    this.#created = new Map();
    this.#verified = new Set();
  }

  /** Makes a charge without a response, and has no other trouble after that. */
  loseNext(): void {
    this.#troubles = ['reset'];
  }

  respond(request: DescribedRequest): Response | 'reset' | 'refused' {
    this.requests.push(request);
    const trouble = this.#troubles.shift() ?? null;
    const isRead = request.method === 'GET';
    const response = isRead ? this.#verify(request.path) : this.#create(request);
    if (trouble === 'reset' || trouble === 'refused') return trouble;
    if (trouble === null) return Response.json(response);
    // Only a 429 proves that a POST can be sent again. After one every poll pauses for a second, so a read gets none.
    const status = isRead ? 503 : 429;
    return Response.json({ status: false }, { status, headers: { 'retry-after': '0' } });
  }

  #create({ path, body }: DescribedRequest): object {
    const { amount, currency = 'GHS' } = Object(parseJson(body));
    const money = { amount: Number(amount).toFixed(2), currency };
    const reference = `TXN-${this.#created.size + 1}`;
    this.#created.set(reference, money);
    this.lastReference = reference;
    return path.endsWith('/initialize')
      ? {
          status: true,
          data: { reference, checkout_url: `https://pay.example/checkout/${reference}`, ...money },
        }
      : { status: true, message: 'Sent.', data: { reference, status: 'processing', ...money } };
  }

  /** The first read finds it pending, and the next one paid. */
  #verify(path: string): object {
    const reference = decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
    const isPaid = this.#verified.has(reference);
    this.#verified.add(reference);
    const money = this.#created.get(reference) ?? { amount: '25.50', currency: 'GHS' };
    const status = isPaid ? 'success' : 'pending';
    const paid_at = isPaid ? '2026-11-21T10:15:00+00:00' : null;
    return {
      status: true,
      data: { reference, status, ...money, customer_email: 'ama@example.com', paid_at },
    };
  }
}
