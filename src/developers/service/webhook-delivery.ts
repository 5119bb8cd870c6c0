import * as z from 'zod/mini';
import { MAX_TIMEOUT_MS } from '../../support/max-timeout.ts';
import type { WebhookFault } from './faults.ts';
import { milliseconds, strict } from './fields.ts';
import { MAX_DELAY_MS } from './ledger.ts';

/**
 * What receives webhooks: an address, or a handler in the same process. Any 2xx status accepts the webhook, and so does a
 * handler that returns no `Response`. Any other status, an error and no response in time mean a retry.
 */
export type WebhookReceiver = string | ((request: Request) => unknown);

/** The options of a receiver: the most retries and the longest times that they can have. */
export const webhookOptionsSchema = strict({
  /**
   * Milliseconds before each retry. Their number is the number of retries.
   *
   * @default [1_000, 5_000, 25_000, 125_000]
   */
  retryDelays: z.optional(
    z
      .readonly(z.array(milliseconds(MAX_DELAY_MS), { error: 'must be a list of milliseconds' }))
      .check(z.maxLength(100, { error: 'must have at most 100 items' })),
  ),
  /**
   * Milliseconds that a receiver has for its response.
   *
   * @default 5_000
   */
  timeout: z.optional(milliseconds(MAX_TIMEOUT_MS, 1)),
});

/** How a webhook is sent. */
export type WebhookOptions = z.output<typeof webhookOptionsSchema>;

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
  /** `waiting`: for its time, or for a retry. `failed`: after the last retry, or given up. `lost`: never sent, as a fault ordered. */
  readonly state: 'waiting' | 'sending' | 'delivered' | 'failed' | 'lost';
  /** When the next attempt is due, in epoch milliseconds. `null` if there is none. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly attempts: readonly WebhookAttempt[];
}
