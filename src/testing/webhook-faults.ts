import { isPlainName } from '../unknown-option.ts';
import { isObject } from '../untrusted.ts';
import { validateTimes } from './fault-queue.ts';
import { MAX_DELAY_MS } from './ledger.ts';

/** The webhook arrives late. */
export interface LateWebhookFault {
  readonly kind: 'late';
  /** In milliseconds on the service's clock. @default 10_000 */
  readonly delay?: number;
}

/** The same webhook arrives twice. */
export interface TwiceWebhookFault {
  readonly kind: 'twice';
}

/** The webhook is held until the next one was sent, or for a minute. */
export interface OutOfOrderWebhookFault {
  readonly kind: 'outOfOrder';
}

/** The webhook is never sent. */
export interface LostWebhookFault {
  readonly kind: 'lost';
}

/**
 * Before the real webhook there is another that the service did not send: it claims a payment that does not exist, another
 * amount, or a success. Without a field it claims `success`.
 */
export interface ForgedWebhookFault {
  readonly kind: 'forged';
  readonly reference?: string;
  /** Decimal text, such as `'2.55'`. */
  readonly amount?: string;
  readonly status?: string;
}

/** The webhook arrives before verify reports the status that it names. */
export interface EarlyWebhookFault {
  readonly kind: 'early';
  /** How long verify still reports the status of before, in milliseconds on the service's clock. @default 3_000 */
  readonly delay?: number;
}

/** Any fault of a webhook, discriminated by `kind`. */
export type WebhookFault =
  | LateWebhookFault
  | TwiceWebhookFault
  | OutOfOrderWebhookFault
  | LostWebhookFault
  | ForgedWebhookFault
  | EarlyWebhookFault;

/** A fault for the next webhooks. */
export interface QueuedWebhookFault {
  readonly fault: WebhookFault;
  /** How many webhooks it is still for. */
  readonly remaining: number;
}

/** The faults that a test has ordered for webhooks: first in, first out. */
export class WebhookFaultQueue {
  #pending: QueuedWebhookFault[] = [];

  /** What has not been used up, in the order in which it was added. */
  get pending(): readonly QueuedWebhookFault[] {
    return this.#pending;
  }

  add(fault: WebhookFault, times: number): void {
    validateWebhookFault(fault);
    validateTimes(times);
    // A copy, because a test in JavaScript can change the object later.
    this.#pending.push({ fault: { ...fault }, remaining: times });
  }

  /** Takes the fault for one webhook. */
  take(): WebhookFault | undefined {
    const [first, ...others] = this.#pending;
    if (!first) return undefined;
    const remaining = first.remaining - 1;
    this.#pending = remaining === 0 ? others : [{ ...first, remaining }, ...others];
    return first.fault;
  }

  clear(): void {
    this.#pending = [];
  }
}

const kinds: Readonly<Record<WebhookFault['kind'], true>> = {
  late: true,
  twice: true,
  outOfOrder: true,
  lost: true,
  forged: true,
  early: true,
};

/**
 * Refuses an impossible fault on the line of the test that orders it. A test in JavaScript has no types.
 *
 * @throws {TypeError} if the kind or a text is not valid
 * @throws {RangeError} if a number is out of its range
 */
function validateWebhookFault(fault: WebhookFault): void {
  const kind: unknown = isObject(fault) ? fault.kind : undefined;
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) {
    const named = typeof kind === 'string' && isPlainName(kind) ? ` ${kind}` : '';
    throw new TypeError(`Unknown webhook fault${named}. Known: ${Object.keys(kinds).join(', ')}.`);
  }
  if (fault.kind === 'late' || fault.kind === 'early') {
    if (fault.delay !== undefined) validateDelay('delay', fault.delay);
  }
  if (fault.kind === 'forged') validateForgedFields(fault);
}

const MAX_FORGED_CHARS = 255;

/**
 * @throws {TypeError} if a field is not a string
 * @throws {RangeError} if a field is too long
 */
export function validateForgedFields({
  reference,
  amount,
  status,
}: Partial<Readonly<Record<'reference' | 'amount' | 'status', unknown>>>): void {
  for (const [name, value] of Object.entries({ reference, amount, status })) {
    if (value === undefined) continue;
    if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${typeof value}.`);
    if (value.length > MAX_FORGED_CHARS)
      throw new RangeError(`${name} must have at most ${MAX_FORGED_CHARS} characters.`);
  }
}

/** @throws {RangeError} if a delay is not milliseconds in the range */
export function validateDelay(name: string, value: unknown, min = 0, max = MAX_DELAY_MS): void {
  if (typeof value === 'number' && value >= min && value <= max) return;
  const given = typeof value === 'number' ? value : typeof value;
  throw new RangeError(`${name} must be milliseconds from ${min} to ${max}, not ${given}.`);
}
