/**
 * The service, as freely as its description leaves it: what that does not say, the seed decides. It keeps a ledger of its own, which
 * the shop is compared with.
 */

import type { Post, Request } from './network.ts';
import { Random } from './random.ts';
import type { World } from './world.ts';

export type Status = 'pending' | 'processing' | 'success' | 'failed' | 'abandoned';

/** A charge that the service made. */
export interface Charge {
  readonly reference: string;
  /** Who asked for it: the email of the request names the order and the press. */
  readonly order: string;
  readonly press: string;
  readonly phone: string | undefined;
  readonly amount: string;
  /** What the shop asked for. */
  readonly asked: string;
  readonly currency: string;
  readonly acceptedAt: number;
  readonly history: { readonly at: number; readonly status: Status }[];
  /** Until this time, every check of it is refused. */
  unreadableUntil: number;
  /** The service does not know it any more. */
  isForgotten: boolean;
  /** When the customer answers, or pays after all: later than everything else in the world. */
  movesLateAt: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  /** It breaks off. */
  readonly isCut?: boolean;
}

export const statusOf = ({ history }: Charge): Status => history.at(-1)?.status ?? 'pending';

export const isOpen = (charge: Charge) => ['pending', 'processing'].includes(statusOf(charge));

/** Whether the service said of a charge, at any time since, that it could not be paid. */
export function wasEndedSince({ history }: Charge, since: number): boolean {
  return history.some(({ status }, index) => {
    const next = history[index + 1];
    return (status === 'failed' || status === 'abandoned') && (next === undefined || next.at >= since);
  });
}

export const wasPaid = ({ history }: Charge, before = Number.POSITIVE_INFINITY) =>
  history.some(({ status, at }) => status === 'success' && at < before);

const DAY = 24 * 60 * 60 * 1000;
/** The form of an error is not documented. */
const ERROR_BODIES = [
  '',
  'no',
  '<html>no</html>',
  { message: 'no' },
  { status: false, error: { code: 'no' } },
] as const;

const PAID_AT = [{ paid_at: '2026-11-01T10:15:00+00:00' }, { paid_at: '2026-11-01T10:15:00.5Z' }] as const;
/** What an unpaid transaction has there is not documented. */
const NOT_PAID_AT = [{ paid_at: null }, { paid_at: '' }, {}, { paid_at: 'never' }] as const;

export class SimulatedService {
  readonly charges: Charge[] = [];
  /** When a check was last told something old or unknown of a transaction, or nothing. */
  readonly misreported = new Map<string, number>();
  readonly #world: World;
  readonly #random: Random;
  readonly #suppresses: 'equal' | 'any';
  readonly #suppressesFor: number;
  readonly #prefix: string;

  constructor(seed: number, world: World) {
    this.#world = world;
    this.#random = Random.of(seed, 'service');
    this.#suppresses = this.#random.pick(['equal', 'any'] as const);
    this.#suppressesFor = this.#random.pick([60_000, 600_000]);
    this.#prefix = this.#random.pick(['TXN-', 'TXN-', 'TXN-gh.2026~', 'TXN-Q_z:']);
  }

  /** @param reference in any case */
  find = (reference = '') =>
    this.charges.find((charge) => charge.reference.toLowerCase() === reference.toLowerCase());

  /** As a person finds it, who looks at the service. */
  findKnown(reference: string | undefined): Charge | undefined {
    const charge = this.find(reference);
    return charge?.isForgotten ? undefined : charge;
  }

  move(charge: Charge, status: Status): void {
    const { clock, swarm } = this.#world;
    if (statusOf(charge) === status || statusOf(charge) === 'success') return;
    charge.history.push({ at: clock.now, status });
    this.#world.say(`service: ${charge.reference} (${charge.order}) is ${status}`);
    swarm.count(`status: ${status}`);
    this.#world.sendWebhooks(charge);
  }

  handle(request: Request, post: Post | undefined): Answer {
    return this.#refuse(request) ?? (post ? this.#charge(request, post) : this.#verify(request));
  }

  /** Says no before it does anything. */
  #refuse({ isPost, body }: Request): Answer | undefined {
    const { swarm } = this.#world;
    const no = (...statuses: number[]): Answer => ({
      status: this.#random.pick(statuses),
      body: this.#random.pick(ERROR_BODIES),
    });
    if (swarm.happens('service: unavailable')) return no(302, 408, 500, 502, 503);
    if (swarm.happens('service: API key refused')) return no(401, 403);
    if (swarm.happens('service: rate limit')) {
      const retryAfter = this.#random.pick([
        '2',
        '0',
        'soon',
        new Date(this.#world.clock.now + 3_000).toUTCString(),
      ]);
      return { ...no(429), ...(this.#random.chance(0.7) && { headers: { 'retry-after': retryAfter } }) };
    }
    if (!isPost) return undefined;
    if (swarm.happens('service: rejects'))
      return this.#random.chance(0.2)
        ? { status: 200, body: { status: false } }
        : no(400, 402, 404, 409, 422);
    const other = this.charges.find(({ phone }) => phone === body.phone);
    if (other && swarm.happens('service: rejects and names another'))
      return { status: 409, body: { status: false, message: `see ${other.reference}` } };
    return undefined;
  }

  #charge({ url, body }: Request, post: Post): Answer {
    const { swarm, clock } = this.#world;
    const { phone, currency = 'GHS' } = body;
    const asked = body.amount.toFixed(2);
    const twin = this.#findTwin(phone, asked);
    const isOther = swarm.happens('service: charges another amount');
    const charge: Charge = twin ?? {
      reference: `${this.#prefix}${String(this.charges.length + 1).padStart(6, '0')}`,
      order: post.order,
      press: post.press,
      phone,
      amount: isOther ? '9.00' : asked,
      asked,
      currency,
      acceptedAt: clock.now,
      history: [{ at: clock.now, status: this.#random.pick(['processing', 'pending']) }],
      unreadableUntil: 0,
      isForgotten: false,
      movesLateAt: undefined,
    };
    const { reference } = charge;
    post.reference = reference;
    this.#world.say(`service: ${twin ? 'has' : 'makes'} ${reference} for ${post.press}`);
    if (!twin) {
      this.charges.push(charge);
      this.#plan(charge);
      this.#world.hearAccepted(charge);
    }
    if (swarm.happens('service: refusal cut after acceptance')) {
      const isEncoded = this.#random.chance(0.5);
      // What is left of an encoded body can look whole.
      const headers = isEncoded && { headers: { 'content-encoding': 'gzip' } };
      return { status: this.#random.pick([422, 429]), body: '', isCut: !isEncoded, ...headers };
    }
    if (swarm.happens('service: error after acceptance')) {
      const status = this.#random.pick([200, 302, 408, 500, 502, 504]);
      return { status, body: this.#random.pick([...ERROR_BODIES.slice(0, 4), { status: true, data: {} }]) };
    }
    if (swarm.happens('service: error with reference'))
      return { status: this.#random.pick([409, 422, 500]), body: { status: false, data: { reference } } };
    const amount = swarm.happens('service: shows another amount') ? '3.00' : charge.amount;
    const more = url.endsWith('initialize')
      ? { checkout_url: `https://pay.example/checkout/${reference}` }
      : { status: swarm.happens('service: unknown status') ? 'sent to Ama Mensah' : 'processing' };
    return this.#show({ reference, amount, currency, ...more });
  }

  #show(data: object): Answer {
    const more = this.#random.pick([{}, { message: 'sent' }, { message: 'sent', meta: { fee: '0.10' } }]);
    return { status: this.#random.pick([200, 200, 201, 202]), body: { status: true, data, ...more } };
  }

  #findTwin(phone: string | undefined, amount: string): Charge | undefined {
    const { clock, swarm } = this.#world;
    const isTwin = (charge: Charge) =>
      charge.phone === phone &&
      (this.#suppresses === 'any' || charge.asked === amount) &&
      clock.now - charge.acceptedAt < this.#suppressesFor &&
      isOpen(charge);
    const twin = phone === undefined ? undefined : this.charges.find(isTwin);
    return twin && swarm.happens('service: suppresses a duplicate') ? twin : undefined;
  }

  /** The customer approves, declines or forgets. */
  #plan(charge: Charge): void {
    const { clock, swarm } = this.#world;
    const random = this.#random;
    const soon = random.chance(0.7) ? random.between(500, 60_000) : random.between(60_000, 600_000);
    if (swarm.happens('service: cannot show a transaction'))
      charge.unreadableUntil = clock.now + random.between(0.5 * DAY, 2.5 * DAY);
    const isLate = swarm.happens('customer: answers after a week');
    // A customer who is asked twice often approves twice.
    const isAgain = this.charges.some((other) => other !== charge && other.order === charge.order);
    const approves = isAgain && random.chance(0.7);
    const first = approves
      ? 'success'
      : random.pick(['success', 'success', 'success', 'failed', 'failed', 'abandoned', 'pending'] as const);
    this.#moveLater(charge, isLate ? random.between(7.2 * DAY, 9 * DAY) : soon, () => {
      this.move(charge, first === 'pending' && isLate ? 'abandoned' : first);
      if (statusOf(charge) === 'failed' || statusOf(charge) === 'abandoned') this.#planAfterEnd(charge);
    });
  }

  /** Nothing says that what has failed stays so: another card is tried on the same page. */
  #planAfterEnd(charge: Charge): void {
    const { swarm } = this.#world;
    const random = this.#random;
    charge.isForgotten = swarm.happens('service: forgets a transaction');
    if (charge.isForgotten) return;
    const isLate = swarm.happens('service: paid weeks later');
    if (!isLate && !swarm.happens('service: paid after its end')) return;
    const pause = isLate ? random.between(8 * DAY, 20 * DAY) : random.between(500, 600_000);
    if (random.chance(0.3)) this.#moveLater(charge, pause / 2, () => this.move(charge, 'pending'));
    this.#moveLater(charge, pause, () => this.move(charge, 'success'));
  }

  #moveLater(charge: Charge, delay: number, move: () => void): void {
    const { clock } = this.#world;
    if (delay > DAY) charge.movesLateAt = clock.now + delay;
    clock.after(delay, move);
  }

  #verify({ url }: Request): Answer {
    const { swarm, clock } = this.#world;
    const charge = this.find(decodeURIComponent(url.slice(url.lastIndexOf('/') + 1)));
    const age = charge && clock.now - charge.acceptedAt;
    const notFound = { status: 404, body: this.#random.pick(ERROR_BODIES) };
    if (!charge || age === undefined || charge.isForgotten) return notFound;
    const misreport = (answer: Answer): Answer => {
      this.misreported.set(charge.reference, clock.now);
      return answer;
    };
    if (age < 30_000 && swarm.happens('service: not found at first')) return misreport(notFound);
    if (clock.now < charge.unreadableUntil)
      return misreport(
        charge.acceptedAt % 2 ? { status: 410, body: '' } : { status: 200, body: { status: false } },
      );
    const { reference, amount, currency, history } = charge;
    const isOld = history.length > 1 && swarm.happens('service: old status');
    const known = isOld ? (history.at(-2)?.status ?? 'pending') : statusOf(charge);
    const unknown =
      swarm.happens('service: unknown status') && this.#random.pick(['queued', 'sent to Ama Mensah']);
    const status = unknown || known;
    const answer = this.#show({
      ...{ reference, status, amount, currency },
      ...this.#random.pick(status === 'success' ? PAID_AT : NOT_PAID_AT),
      customer_email: this.#random.pick([
        `${charge.order}.${charge.press}@example.com`,
        'a***@example.com',
        '',
      ]),
    });
    return status === statusOf(charge) ? answer : misreport(answer);
  }
}
