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
