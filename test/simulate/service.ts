/**
 * The service, as freely as its description leaves it: what that does not say, the seed decides. It keeps a ledger of its own, which
 * the shop is compared with.
 */

import { DAY, MINUTE, SECOND } from './clock.ts';
import type { Post, Request } from './network.ts';
import { Random } from './random.ts';
import type { World } from './world.ts';

type Status = 'pending' | 'processing' | 'success' | 'failed' | 'abandoned';

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

export const isEnd = (status: Status) => status === 'failed' || status === 'abandoned';

/** Whether the service said of a charge, at any time since, that it could not be paid. */
export const wasEndedSince = ({ history }: Charge, since = 0) =>
  history.some(({ status }, index) => isEnd(status) && (history[index + 1]?.at ?? since) >= since);

export const wasEndedBefore = ({ history }: Charge, time: number) =>
  history.some(({ at, status }) => isEnd(status) && at < time);

export const wasPaid = ({ history }: Charge, before = Number.POSITIVE_INFINITY) =>
  history.some(({ status, at }) => status === 'success' && at < before);

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

/** However a number is written. */
const toNumber = (phone: string | undefined) => phone && `0${phone.replace(/\D/g, '').slice(-9)}`;

export class SimulatedService {
  readonly charges: Charge[] = [];
  /** When a check was last told something old or unknown of a transaction, or nothing. */
  readonly misreported = new Map<string, number>();
  readonly #world: World;
  readonly #random: Random;
  readonly #suppresses: 'equal' | 'any';
  readonly #suppressesFor: number;
  readonly #suppressesPages: boolean;
  readonly #prefix: string;

  constructor(seed: number, world: World) {
    this.#world = world;
    this.#random = Random.of(seed, 'service');
    this.#suppresses = this.#random.pick(['equal', 'any'] as const);
    this.#suppressesFor = this.#random.pick([MINUTE, 10 * MINUTE]);
    this.#suppressesPages = this.#random.chance(0.5);
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
    if (statusOf(charge) === status || statusOf(charge) === 'success') return;
    charge.history.push({ at: this.#world.clock.now, status });
    this.#world.say(`service: ${charge.reference} (${charge.order}) is ${status}`);
    this.#world.count(`status: ${status}`);
    // A webhook can be lost. After more than a week, nothing else might tell.
    const times = charge.movesLateAt === undefined ? this.#random.pick([0, 1, 1, 2]) : 1;
    for (let left = times; left > 0; left--) {
      const delay = this.#random.pick([0, 50, 1_000, this.#random.between(0, 20_000)]);
      this.#world.clock.after(delay, () => this.#sendWebhook(charge));
    }
  }

  #sendWebhook({ reference }: Charge): void {
    const { swarm, notify } = this.#world;
    if (swarm.happens('webhook: without a reference')) {
      const [body] = this.#random.pick([[undefined], [{}], [''], [Buffer.from('{"event":"ping"}')]]);
      return void notify(body, undefined);
    }
    // Anyone can send one, about anything.
    const other = this.#random.pick(this.charges).reference;
    const others = [reference.toUpperCase(), other, `${reference}0`, [other, reference], [reference, other]];
    const named = swarm.happens('webhook: of others') ? this.#random.pick(others) : reference;
    const parsed = { event: 'charge.success', data: { id: 17, reference: named } };
    const text = JSON.stringify(parsed);
    // The forms in which a shop hands them over: nothing of them is documented.
    const bodies = [
      named,
      parsed,
      { body: { payload: [parsed] } },
      text,
      Buffer.from(text),
      new TextEncoder().encode(text).buffer,
      new URLSearchParams({ status: 'success', reference }),
      { isBase64Encoded: true, body: btoa(text) },
    ];
    notify(this.#random.pick(bodies), reference);
  }

  handle(request: Request, post: Post | undefined): Answer {
    return this.#refuse(request) ?? (post ? this.#charge(request, post) : this.#verify(request));
  }

  #no = (...statuses: number[]): Answer => ({
    status: this.#random.pick(statuses),
    body: this.#random.pick(ERROR_BODIES),
  });

  /** Says no before it does anything. */
  #refuse({ isPost, body }: Request): Answer | undefined {
    const { swarm, clock } = this.#world;
    if (swarm.happens('service: unavailable')) return this.#no(302, 408, 500, 502, 503);
    if (swarm.happens('service: API key refused')) return this.#no(401, 403);
    if (swarm.happens('service: rate limit')) {
      const date = new Date(clock.now + 3_000).toUTCString();
      const retryAfter = this.#random.pick(['2', '0', 'soon', date]);
      return {
        ...this.#no(429),
        ...(this.#random.chance(0.7) && { headers: { 'retry-after': retryAfter } }),
      };
    }
    if (!isPost) return undefined;
    if (swarm.happens('service: rejects'))
      return this.#random.chance(0.2)
        ? { status: 200, body: { status: false } }
        : this.#no(400, 402, 404, 409, 422);
    const other = this.charges.find(({ phone }) => phone === toNumber(body.phone));
    if (other && swarm.happens('service: rejects and names another'))
      return { status: 409, body: { status: false, message: `see ${other.reference}` } };
    return undefined;
  }

  #charge({ url, body }: Request, post: Post): Answer {
    const { swarm, say } = this.#world;
    const twin = this.#findTwin(toNumber(body.phone), body.amount.toFixed(2));
    const charge = twin ?? this.#makeCharge(body, post);
    const { reference, currency } = charge;
    post.reference = reference;
    say(`service: ${twin ? 'has' : 'makes'} ${reference} for ${post.press}`);
    if (!twin) {
      this.charges.push(charge);
      this.#plan(charge);
      this.#world.hearAccepted(charge);
      if (swarm.happens('webhook: before the response')) this.#sendWebhook(charge);
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
    const query = swarm.happens('service: address with an email') ? `?for=${body.customer_email}` : '';
    const more = url.endsWith('initialize')
      ? { checkout_url: `https://pay.example/checkout/${reference}${query}` }
      : { status: this.#confirm() };
    return this.#show({ reference, amount, currency, ...more });
  }

  /** What is said of a charge that was just made. Only a check of it counts. */
  #confirm(): string {
    const { swarm } = this.#world;
    if (swarm.happens('service: confirms another status'))
      return this.#random.pick(['success', 'failed', 'abandoned', 'pending']);
    return swarm.happens('service: unknown status') ? 'sent to Ama Mensah' : 'processing';
  }

  #makeCharge({ amount, phone, currency = 'GHS' }: Request['body'], { order, press }: Post): Charge {
    const { swarm, clock } = this.#world;
    const asked = amount.toFixed(2);
    const isOther = swarm.happens('service: charges another amount');
    return {
      reference: `${this.#prefix}${String(this.charges.length + 1).padStart(6, '0')}`,
      ...{ order, press, asked, currency },
      phone: toNumber(phone),
      amount: isOther ? '9.00' : asked,
      acceptedAt: clock.now,
      history: [{ at: clock.now, status: this.#random.pick(['processing', 'pending']) }],
      unreadableUntil: 0,
      isForgotten: false,
      movesLateAt: undefined,
    };
  }

  #show(data: object): Answer {
    const more = this.#random.pick([{}, { message: 'sent' }, { message: 'sent', meta: { fee: '0.10' } }]);
    return { status: this.#random.pick([200, 200, 201, 202]), body: { status: true, data, ...more } };
  }

  #findTwin(phone: string | undefined, amount: string): Charge | undefined {
    const { swarm, clock } = this.#world;
    const since = clock.now - this.#suppressesFor;
    const twin = this.charges.find(
      (charge) =>
        (phone !== undefined || this.#suppressesPages) &&
        charge.phone === phone &&
        (this.#suppresses === 'any' || charge.asked === amount) &&
        charge.acceptedAt > since &&
        (isOpen(charge) || swarm.happens('service: suppresses what has ended')),
    );
    return twin && swarm.happens('service: suppresses a duplicate') ? twin : undefined;
  }

  /** The customer approves, declines or forgets. */
  #plan(charge: Charge): void {
    const { clock, swarm } = this.#world;
    const random = this.#random;
    const soon = random.chance(0.7) ? random.between(500, MINUTE) : random.between(MINUTE, 10 * MINUTE);
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
      if (isEnd(statusOf(charge))) this.#planAfterEnd(charge);
    });
  }

  /** Nothing says that what has failed stays so: another card is tried on the same page. */
  #planAfterEnd(charge: Charge): void {
    const { swarm } = this.#world;
    charge.isForgotten = swarm.happens('service: forgets a transaction');
    if (charge.isForgotten) return;
    const isLate = swarm.happens('service: paid weeks later');
    if (!isLate && !swarm.happens('service: paid after its end')) return;
    const pause = isLate ? this.#random.between(8 * DAY, 20 * DAY) : this.#random.between(500, 10 * MINUTE);
    if (this.#random.chance(0.3)) this.#moveLater(charge, pause / 2, () => this.move(charge, 'pending'));
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
    if (!charge || charge.isForgotten) return this.#no(404);
    const { amount, currency, history, acceptedAt } = charge;
    const isOther = swarm.happens('service: shows another transaction');
    const { reference } = isOther ? this.#random.pick(this.charges) : charge;
    const misreport = (answer: Answer): Answer => {
      this.misreported.set(charge.reference, clock.now);
      return answer;
    };
    if (clock.now - acceptedAt < 30 * SECOND && swarm.happens('service: not found at first'))
      return misreport(this.#no(404));
    if (clock.now < charge.unreadableUntil)
      return misreport(acceptedAt % 2 ? { status: 410, body: '' } : { status: 200, body: { status: false } });
    const isOld = history.length > 1 && swarm.happens('service: old status');
    const known = isOld ? (history.at(-2)?.status ?? 'pending') : statusOf(charge);
    const isUnknown = swarm.happens('service: unknown status');
    const status = isUnknown ? this.#random.pick(['queued', 'sent to Ama Mensah']) : known;
    const emails = [`${charge.order}.${charge.press}@example.com`, 'a***@example.com', ''];
    const answer = this.#show({
      ...{ reference, status, amount, currency },
      ...this.#random.pick(status === 'success' ? PAID_AT : NOT_PAID_AT),
      customer_email: this.#random.pick(emails),
    });
    return status === statusOf(charge) && !isOther ? answer : misreport(answer);
  }
}
