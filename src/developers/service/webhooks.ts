import { type KnownStatus, transactionStatuses } from '../../api/transaction.ts';
import { parseOptions } from '../../parse-options.ts';
import { isFinal } from '../../schedule.ts';
import { redactReference } from '../../support/redact.ts';
import { version } from '../../support/version.ts';
import type { Clock } from './clock.ts';
import { FaultQueue, type Queued } from './fault-queue.ts';
import { type ForgedFields, forgedFieldsSchema, parseWebhookFault, type WebhookFault } from './faults.ts';
import { describeIssue, parseOrThrow } from './fields.ts';
import type { Entry, LedgerObserver } from './ledger.ts';
import { JSON_TYPE, toTransactionData } from './responses.ts';
import type { PaymentService } from './service.ts';
import {
  type WebhookDelivery,
  type WebhookOptions,
  type WebhookReceiver,
  webhookOptionsSchema,
} from './webhook-delivery.ts';
import { type OpenDelivery, WebhookQueue, type WebhookTarget } from './webhook-queue.ts';
import { createReceiver } from './webhook-receiver.ts';

/** Controls the webhooks of the service from a test. */
export interface WebhookControls {
  /**
   * The deliveries that are kept, in the order of creation. Each is updated until it is final. The mock and the sandbox
   * keep the latest 1000 or more.
   */
  readonly deliveries: WebhookDelivery[];
  /**
   * Sends a webhook to a receiver when a payment becomes final. What was created before still goes to its own receiver.
   * `null` stops that: what waits is given up.
   *
   * @throws {TypeError} if the receiver is neither a function, nor an http or https address, nor `null`
   * @throws {ConfigurationError} if an option is unknown or cannot work
   */
  deliverTo(receiver: WebhookReceiver | null, options?: WebhookOptions): void;
  /**
   * Sends one more webhook about a transaction now, with its present status and perhaps forged fields. It uses up no
   * fault.
   *
   * @throws {Error} if there is no such transaction, or no receiver
   * @throws {TypeError} if a forged field is not a string
   */
  send(reference: string, forged?: ForgedFields): WebhookDelivery;
  /**
   * Orders a fault for the next webhooks. Several faults follow one after the other.
   *
   * @param options `times`: how many webhooks, or `Infinity` until `clearFaults` or `reset`. Default 1.
   * @throws {TypeError} if the kind or a text is not valid
   * @throws {RangeError} if a number is out of its range
   */
  fault(fault: WebhookFault, options?: { times?: number }): void;
  /** Deletes the faults that are not used up. */
  clearFaults(): void;
  /**
   * Sends what waits (late webhooks, retries) now, and resolves when each has been delivered or has failed. Under fake
   * timers, the timeout of a receiver that does not respond passes only when the test advances them. A receiver must not
   * wait for it, because it waits for the receiver.
   */
  flush(): Promise<void>;
}

const DEFAULT_RETRY_DELAYS = [1_000, 5_000, 25_000, 125_000];
const DEFAULT_TIMEOUT = 5_000;
const DEFAULT_LATE_DELAY = 10_000;
const DEFAULT_EARLY_DELAY = 3_000;
/** How many deliveries are kept at least, once they are final. At most twice as many are kept. */
const MIN_KEPT_DELIVERIES = 1_000;

/** What the owner of {@link Webhooks} gives it. */
export interface WebhooksContext {
  /** For the `user-agent`. */
  readonly sender: 'mock' | 'sandbox';
  readonly clock: Clock;
  readonly onChange?: () => void;
  /** Called when webhooks begin to have a receiver, and when they no longer have one. */
  readonly onReceiver?: (hasReceiver: boolean) => void;
  readonly deviation?: string | undefined;
}

interface WebhookEvent {
  readonly id: string;
  readonly reference: string;
  readonly payload: object;
  readonly target: WebhookTarget;
}

/** The webhooks of a service: what was sent, what waits, and what is ordered for the next ones. */
export class Webhooks implements LedgerObserver, WebhookControls {
  readonly #context: WebhooksContext;
  readonly #queue: WebhookQueue;
  readonly #faults = new FaultQueue<{ readonly fault: WebhookFault }>();
  #service: PaymentService | undefined;
  #target: WebhookTarget | null = null;
  #deliveries: WebhookDelivery[] = [];
  #deliveryCount = 0;
  #eventCount = 0;

  constructor(context: WebhooksContext) {
    this.#context = context;
    this.#queue = new WebhookQueue(context.clock, () => this.#notifyChange());
  }

  start(service: PaymentService): void {
    this.#service = service;
  }

  get deliveries(): WebhookDelivery[] {
    return [...this.#deliveries];
  }

  /** The faults that have not been used up, in the order in which they were ordered. */
  get pendingFaults(): readonly Queued<{ readonly fault: WebhookFault }>[] {
    return this.#faults.pending;
  }

  /** The address of the receiver, `'handler'`, or `null` if there is none. */
  get url(): string | null {
    return this.#target?.receiver.url ?? null;
  }

  deliverTo(receiver: WebhookReceiver | null, options: WebhookOptions = {}): void {
    const { retryDelays = DEFAULT_RETRY_DELAYS, timeout = DEFAULT_TIMEOUT } = parseOptions(
      webhookOptionsSchema,
      options,
      {
        notAnObject: 'The options of a receiver must be an object, such as { timeout: 5_000 }.',
        describe: describeIssue,
      },
    );
    if (receiver === null) {
      this.#target = null;
      this.#queue.giveUp();
    } else {
      this.#target = { receiver: createReceiver(receiver), retryDelays, timeout };
    }
    this.#context.onReceiver?.(receiver !== null);
    this.#notifyChange();
  }

  send(reference: string, forged: ForgedFields = {}): WebhookDelivery {
    const claimed = parseOrThrow(forgedFieldsSchema, forged, 'The forged webhook');
    const entry = this.#service?.ledger.find(reference);
    if (!entry) {
      const named = redactReference(String(reference).slice(0, 64));
      throw new Error(`There is no transaction ${named}. No webhook was sent.`);
    }
    if (!this.#target)
      throw new Error('There is no receiver of webhooks. Nothing was sent. Call deliverTo first.');
    const event = this.#createEvent(entry, this.#target, claimed);
    return this.#add(event, isEmpty(claimed) ? null : 'forged');
  }

  fault(fault: WebhookFault, { times = 1 }: { times?: number } = {}): void {
    this.#faults.add({ fault: parseWebhookFault(fault) }, times);
    this.#notifyChange();
  }

  clearFaults(): void {
    this.#faults.clear();
    this.#notifyChange();
  }

  flush(): Promise<void> {
    return this.#queue.flush();
  }

  /** Deletes the deliveries and the faults. The receiver stays. */
  reset(): void {
    this.#queue.abort();
    this.#faults.clear();
    this.#deliveries = [];
    this.#deliveryCount = 0;
    this.#eventCount = 0;
    this.#notifyChange();
  }

  stop(): void {
    this.#queue.abort();
    this.deliverTo(null);
  }

  changed(entry: Entry, before: KnownStatus): void {
    if (this.#target && entry.status !== before && isFinal(entry.status))
      this.#announce(entry, before, this.#target);
  }

  /** Creates the webhook of a new final status, with the next fault. */
  #announce(entry: Entry, before: KnownStatus, target: WebhookTarget): void {
    const fault = this.#faults.take()?.fault;
    const event = this.#createEvent(entry, target);
    switch (fault?.kind) {
      case 'lost':
        this.#record(event, 'lost', 'lost');
        this.#notifyChange();
        break;
      case 'late':
        this.#add(event, 'late', fault.delay ?? DEFAULT_LATE_DELAY);
        break;
      case 'forged': {
        const { kind, ...fields } = fault;
        const claimed = isEmpty(fields) ? { status: 'success' } : fields;
        this.#add(this.#createEvent(entry, target, claimed), kind);
        this.#add(event, null);
        break;
      }
      case 'twice':
        this.#add(event, 'twice');
        this.#add(event, 'twice');
        break;
      case 'early':
        this.#add(event, 'early');
        this.#service?.ledger.hideStatus(entry.reference, before, fault.delay ?? DEFAULT_EARLY_DELAY);
        break;
      case undefined:
        this.#add(event, null);
    }
  }

  #createEvent(entry: Entry, target: WebhookTarget, forged: ForgedFields = {}): WebhookEvent {
    const status = forged.status ?? entry.status;
    const known = transactionStatuses.find((candidate) => candidate === status) ?? 'pending';
    const { reference: own, ...data } = toTransactionData(entry, known);
    const { reference = own, amount = data.amount } = forged;
    const named = this.#context.deviation === 'webhook-reference' ? { id: 1 } : { reference };
    const payload = { event: `transaction.${status}`, data: { ...named, ...data, status, amount } };
    return { id: `whe_${++this.#eventCount}`, reference: entry.reference, payload, target };
  }

  #add(event: WebhookEvent, kind: WebhookFault['kind'] | null, delay = 0): OpenDelivery {
    const delivery = this.#record(event, kind, 'waiting');
    this.#queue.add(delivery, event.target, delay);
    this.#notifyChange();
    return delivery;
  }

  #record(
    { id, reference, payload, target }: WebhookEvent,
    fault: WebhookFault['kind'] | null,
    state: 'waiting' | 'lost',
  ): OpenDelivery {
    const deliveryId = `whd_${++this.#deliveryCount}`;
    const delivery: OpenDelivery = {
      id: deliveryId,
      reference,
      url: target.receiver.url,
      headers: {
        ...JSON_TYPE,
        'user-agent': `payment-collection-client-${this.#context.sender}/${version}`,
        'x-sandbox-delivery': deliveryId,
        'x-sandbox-event': id,
      },
      body: payload,
      fault,
      state,
      dueAt: null,
      createdAt: this.#context.clock.now(),
      attempts: [],
    };
    this.#deliveries.push(delivery);
    if (this.#deliveries.length - this.#queue.size > 2 * MIN_KEPT_DELIVERIES) this.#forgetOldest();
    return delivery;
  }

  /** Deletes the older half of the deliveries that are final. */
  #forgetOldest(): void {
    let surplus = this.#deliveries.length - this.#queue.size - MIN_KEPT_DELIVERIES;
    this.#deliveries = this.#deliveries.filter(({ state }) => {
      const isFinished = state !== 'waiting' && state !== 'sending';
      return !isFinished || surplus-- <= 0;
    });
  }

  #notifyChange(): void {
    this.#context.onChange?.();
  }
}

function isEmpty(fields: ForgedFields): boolean {
  return Object.values(fields).every((value) => value === undefined);
}
