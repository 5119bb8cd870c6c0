import { printableStatus, type Transaction } from './contract/transaction.ts';
import { brand, PaymentsError, showReference } from './errors.ts';
import { shownReference } from './redact.ts';

export interface WaitFacts {
  reference: string;
  /** The reference as it may be printed. */
  shown?: string | undefined;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  attempts: number;
  elapsed: number;
  startedAt: number;
}

/**
 * A wait's deadline passed and the status is not final. **This is no failure of the payment**: the customer may still
 * approve it. Do not cancel the order and do not charge again; wait on by `reference` and `startedAt`, or ask later.
 *
 * @example
 * ```ts
 * if (error instanceof WaitTimeoutError) await askAgainLater(error.reference, error.startedAt);
 * ```
 */
export class WaitTimeoutError extends PaymentsError {
  declare readonly name: 'WaitTimeoutError';
  declare readonly code: 'wait_timeout';
  /** The status that was seen last, as the service wrote it where that is a plain word; `undefined` where no poll
   * was answered. */
  readonly lastStatus: string | undefined;
  /** How many polls were made. */
  readonly attempts: number;
  /** Milliseconds since `startedAt`. */
  readonly elapsed: number;
  /** When the wait began, or the charge was made, in milliseconds since 1970: pass it on to carry the wait on. */
  readonly startedAt: number;
  readonly #reference: string;
  readonly #lastTransaction: Transaction | undefined;
  readonly #lastError: PaymentsError | undefined;

  constructor({
    reference,
    shown = shownReference(reference),
    lastTransaction,
    lastError,
    attempts,
    elapsed,
    startedAt,
  }: WaitFacts) {
    const status = lastTransaction && printableStatus(lastTransaction);
    const seen = status
      ? `its last known status is ${JSON.stringify(status)}`
      : 'no poll was answered with a status';
    const failed = lastError ? `, and the last poll failed (${lastError.code})` : '';
    super(
      `${shown} has no final status ${Math.round(elapsed / 1000)} s after it began: ${seen} after ` +
        `${attempts} poll${attempts === 1 ? '' : 's'}${failed}. This does not mean that the payment failed: do not ` +
        'cancel the order and do not charge again. Wait on, or ask later.',
      { operation: 'verify', retryable: true, cause: lastError },
    );
    this.lastStatus = status;
    this.attempts = attempts;
    this.elapsed = elapsed;
    this.startedAt = startedAt;
    this.#lastTransaction = lastTransaction;
    this.#reference = reference;
    this.#lastError = lastError;
    showReference(this, reference, shown);
  }

  /** The transaction that was waited for. */
  get reference(): string {
    return this.#reference;
  }

  /** The transaction as it was last seen. Printing the error does not print it. */
  get lastTransaction(): Transaction | undefined {
    return this.#lastTransaction;
  }

  /** Why the last poll failed, where it did: the `cause` too. */
  get lastError(): PaymentsError | undefined {
    return this.#lastError;
  }

  static {
    brand(this, 'WaitTimeoutError', 'wait_timeout');
  }
}
