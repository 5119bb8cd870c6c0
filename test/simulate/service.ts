/** The service, as freely as its description leaves it: it keeps a ledger of its own, which the shop is compared with. */

import { hosts, type Random, type VirtualClock } from './clock.ts';

type Status = 'pending' | 'processing' | 'success' | 'failed' | 'abandoned';

/** A charge that the service made. */
export interface Charge {
  readonly reference: string;
  /** Who asked for it: the email of the request names the order and the press. */
  readonly order: string;
  readonly press: string;
  readonly phone: string | undefined;
  readonly amount: string;
  readonly currency: string;
  readonly acceptedAt: number;
  readonly history: { readonly at: number; readonly status: Status }[];
}

/** A POST that reached the service. */
export interface Posted {
  readonly requestId: string;
  readonly order: string;
  readonly press: string;
  readonly sentAt: number;
  reference: string | undefined;
  /** Whether it made a charge, rather than being answered with an earlier one. */
  isNew: boolean;
}

export interface ServiceRules {
  /** How often something goes wrong, from 0 to 1. */
  faults: number;
  /** Whether a charge of the same number within a minute is answered with the first one: any, or an equal one. */
  readonly suppresses: 'none' | 'equal' | 'any';
}

export const statusOf = ({ history }: Charge): Status => history.at(-1)?.status ?? 'pending';

export class SimulatedService {
  readonly charges: Charge[] = [];
  readonly posts: Posted[] = [];
  readonly rules: ServiceRules;
  onAccepted: (charge: Charge) => void = () => {};
  onChanged: (charge: Charge) => void = () => {};
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #log: (line: string) => void;

  constructor(clock: VirtualClock, random: Random, rules: ServiceRules, log: (line: string) => void) {
    this.#clock = clock;
    this.#random = random;
    this.rules = rules;
    this.#log = log;
  }

  find = (reference: string) => this.charges.find((charge) => charge.reference === reference);

  move(charge: Charge, status: Status): void {
    if (statusOf(charge) === status) return;
    charge.history.push({ at: this.#clock.now, status });
    this.#log(`service: ${charge.reference} (${charge.order}) is ${status}`);
    this.onChanged(charge);
  }

  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const random = this.#random;
    const host = hosts.getStore();
    const request = {
      url: String(input),
      method: init?.method ?? 'GET',
      headers: new Headers(init?.headers),
      body: String(init?.body),
    };
    const { signal } = init ?? {};
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      const answer = (give: () => void) => this.#clock.set(give, this.#latency(), host);
      const lose = () => answer(() => reject(networkError('ECONNRESET', 'read ECONNRESET')));
      const isPost = request.method === 'POST';
      const fault = random.chance(this.rules.faults)
        ? random.pick(isPost ? POST_FAULTS : GET_FAULTS)
        : undefined;
      if (isPost) this.#log(`${host?.name}: POST ${fault ?? ''} ${request.body}`);
      if (fault === 'refused')
        return void answer(() => reject(networkError('ECONNREFUSED', 'connect ECONNREFUSED')));
      const sentAt = this.#clock.now;
      this.#clock.set(
        () => {
          if (fault === 'reset') return void lose();
          if (fault === 'hang') return;
          if (fault === 'unavailable')
            return void answer(() =>
              resolve(Response.json({ status: false, message: 'later' }, { status: 503 })),
            );
          if (fault === 'rejected')
            return void answer(() =>
              resolve(Response.json({ status: false, message: 'no' }, { status: 422 })),
            );
          const response = isPost ? this.#charge(request, sentAt) : this.#verify(request.url);
          if (fault === 'lost') return void lose();
          if (fault === 'lost silently') return;
          if (fault === 'error after')
            return void answer(() => resolve(Response.json({ status: false }, { status: 500 })));
          answer(() => resolve(response));
        },
        this.#latency(),
        undefined,
      );
    });
  };

  #latency(): number {
    const random = this.#random;
    if (random.chance(this.rules.faults / 2)) return random.between(1_000, 28_000);
    return random.between(1, 400);
  }

  #charge({ url, headers, body }: { url: string; headers: Headers; body: string }, sentAt: number): Response {
    const random = this.#random;
    const input: { amount: number; customer_email: string; phone?: string; currency?: string } =
      JSON.parse(body);
    const [order = '', press = ''] = input.customer_email.replace(/@.*/, '').split('.');
    const amount = input.amount.toFixed(2);
    const { suppresses } = this.rules;
    const twin =
      suppresses !== 'none' && input.phone
        ? this.charges.find(
            (charge) =>
              charge.phone === input.phone &&
              (suppresses === 'any' || charge.amount === amount) &&
              this.#clock.now - charge.acceptedAt < 60_000 &&
              (statusOf(charge) === 'pending' || statusOf(charge) === 'processing'),
          )
        : undefined;
    const charge: Charge = twin ?? {
      reference: `TXN-${String(this.charges.length + 1).padStart(6, '0')}`,
      order,
      press,
      phone: input.phone,
      amount: random.chance(this.rules.faults / 3) ? '9.00' : amount,
      currency: input.currency ?? 'GHS',
      acceptedAt: this.#clock.now,
      history: [{ at: this.#clock.now, status: input.phone ? 'processing' : 'pending' }],
    };
    const requestId = headers.get('x-request-id') ?? '';
    this.posts.push({ requestId, order, press, sentAt, reference: charge.reference, isNew: !twin });
    this.#log(`service: ${twin ? 'answers with' : 'makes'} ${charge.reference} for ${order}.${press}`);
    if (!twin) {
      this.charges.push(charge);
      this.#plan(charge);
      this.onAccepted(charge);
    }
    const shown = random.chance(this.rules.faults / 4) ? '3.00' : amount;
    const { reference, currency } = charge;
    const page = url.endsWith('initialize')
      ? { checkout_url: `https://pay.example/checkout/${reference}` }
      : { status: 'processing' };
    return Response.json({
      status: true,
      message: 'sent',
      data: { reference, amount: random.chance(0.9) ? charge.amount : shown, currency, ...page },
    });
  }

  /** The customer approves, declines, forgets, or pays after all. */
  #plan(charge: Charge): void {
    const random = this.#random;
    const first = random.pick(['success', 'success', 'failed', 'abandoned', 'pending'] as const);
    this.#clock.set(
      () => {
        this.move(charge, first);
        if ((first === 'failed' || first === 'abandoned') && random.chance(0.3))
          this.#clock.set(() => this.move(charge, 'success'), random.between(500, 600_000), undefined);
      },
      random.chance(0.7) ? random.between(500, 60_000) : random.between(60_000, 600_000),
      undefined,
    );
  }

  #verify(url: string): Response {
    const charge = this.find(url.slice(url.lastIndexOf('/') + 1));
    const isLagging =
      charge && this.#clock.now - charge.acceptedAt < 2_000 && this.#random.chance(this.rules.faults);
    if (!charge || isLagging) return Response.json({ status: false, message: 'not found' }, { status: 404 });
    const { reference, amount, currency } = charge;
    const status = statusOf(charge);
    const paid_at = status === 'success' ? '2026-11-01T10:15:00+00:00' : null;
    return Response.json({
      status: true,
      data: { reference, status, amount, currency, customer_email: 'ama@example.com', paid_at },
    });
  }
}

const POST_FAULTS = [
  'refused',
  'reset',
  'hang',
  'rejected',
  'unavailable',
  'lost',
  'lost silently',
  'error after',
] as const;
const GET_FAULTS = ['refused', 'reset', 'hang', 'unavailable', 'error after'] as const;

const networkError = (code: string, message: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) });
