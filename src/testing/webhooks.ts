import type { KnownStatus } from '../api/transaction.ts';
import { isFinal } from '../schedule.ts';
import type { Entry, LedgerObserver } from './ledger.ts';
import { toTransactionData } from './responses.ts';
import type { PaymentService } from './service.ts';
import type { WebhookFault } from './webhook-faults.ts';

/**
 * What receives webhooks: an address, or a handler in the same process. Any 2xx status accepts the webhook, and so does a
 * handler that returns no `Response`. Any other status, an error and no response in time mean a retry.
 */
export type WebhookReceiver = string | ((request: Request) => unknown);

/** How a webhook is sent. */
export interface WebhookOptions {
  /**
   * Milliseconds before each retry. Their number is the number of retries.
   *
   * @default [1_000, 5_000, 25_000, 125_000]
   */
  readonly retryDelays?: readonly number[] | undefined;
  /**
   * Milliseconds that a receiver has for its response.
   *
   * @default 5_000
   */
  readonly timeout?: number | undefined;
}

/** One request to the receiver, and its response. */
export interface WebhookAttempt {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Milliseconds. `null` while there is no response. */
  readonly duration: number | null;
  /** `null` without a response. */
  readonly status: number | null;
  /** The first 4,096 characters of the response, as text. `null` without a response. */
  readonly body: string | null;
  /** Why there is no response, or `null`. */
  readonly error: string | null;
}

/** One webhook, with each attempt to deliver it. */
export interface WebhookDelivery {
  /** `whd_1` and so on. */
  readonly id: string;
  /** The transaction that it is about. A forged one can name another in its body. */
  readonly reference: string;
  /** The receiver: its address, or `'handler'`. `null` if there is none. */
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The payload. Its shape is an assumption: the service does not document it. */
  readonly body: unknown;
  readonly fault: WebhookFault['kind'] | null;
  /** `waiting`: for its time, or for a retry. `failed`: after the last retry. `lost`: never sent, as a fault ordered. */
  readonly state: 'waiting' | 'sending' | 'delivered' | 'failed' | 'lost';
  /** When the next attempt is due, in epoch milliseconds. `null` if there is none. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly attempts: readonly WebhookAttempt[];
}

/** Changes of the payload of a forged webhook. */
export interface ForgedFields {
  readonly reference?: string;
  readonly amount?: string;
  readonly status?: string;
}

/** Controls the webhooks of the service from a test. */
export interface WebhookControls {
  /** The deliveries that are kept, in the order of creation. The mock and the sandbox keep the latest 1000 or more. */
  readonly deliveries: WebhookDelivery[];
  /** Sends a webhook to a receiver when a payment becomes final. `null` stops that. */
  deliverTo(receiver: WebhookReceiver | null, options?: WebhookOptions): void;
  /** Sends one more webhook about a transaction now, with its present status and perhaps forged fields. */
  send(reference: string, forged?: ForgedFields): WebhookDelivery;
  /** Orders a fault for the next webhooks. Several faults follow one after the other. */
  fault(fault: WebhookFault, options?: { times?: number }): void;
  /** Sends what waits (late webhooks, retries, held ones) now, and resolves when each has been delivered or has failed. */
  flush(): Promise<void>;
}

/** The webhooks of a service: what was sent, what waits, and what is ordered for the next ones. */
export class Webhooks implements LedgerObserver, WebhookControls {
  #service: PaymentService | undefined;
  #deliveries: WebhookDelivery[] = [];
  readonly #onChange: () => void;

  /** @param onChange called after each change of a delivery or of what is ordered */
  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  start(service: PaymentService): void {
    this.#service = service;
  }

  get deliveries(): WebhookDelivery[] {
    return [...this.#deliveries];
  }

  /** The faults that have not been used up, in the order in which they were ordered. */
  get pendingFaults(): readonly { readonly fault: WebhookFault; readonly remaining: number }[] {
    return [];
  }

  /** The address of the receiver, `'handler'`, or `null` if there is none. */
  get url(): string | null {
    return null;
  }

  deliverTo(_receiver: WebhookReceiver | null, _options: WebhookOptions = {}): void {}

  send(reference: string, _forged: ForgedFields = {}): WebhookDelivery {
    const entry = this.#service?.ledger.find(reference);
    if (!entry) throw new Error(`There is no transaction ${reference}.`);
    const delivery: WebhookDelivery = {
      id: `whd_${this.#deliveries.length + 1}`,
      reference,
      url: this.url,
      headers: { 'content-type': 'application/json' },
      body: { event: `transaction.${entry.status}`, data: toTransactionData(entry, entry.status) },
      fault: null,
      state: 'waiting',
      dueAt: null,
      createdAt: Date.now(),
      attempts: [],
    };
    this.#deliveries.push(delivery);
    this.#onChange();
    return delivery;
  }

  fault(_fault: WebhookFault, _options: { times?: number } = {}): void {}

  clearFaults(): void {}

  async flush(): Promise<void> {}

  /** Deletes the deliveries and the faults. The receiver stays. */
  reset(): void {
    this.#deliveries = [];
  }

  created(): void {}

  changed(entry: Entry, before: KnownStatus): void {
    if (this.url !== null && entry.status !== before && isFinal(entry.status)) this.send(entry.reference);
  }

  deleted(): void {}
}
