import { printableStatus, type Transaction } from './contract/transaction.ts';
import { brand, PaymentsError } from './errors.ts';

export interface WaitFacts {
  reference: string;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  attempts: number;
  elapsed: number;
  startedAt: number;
}

function seenAs(status: string | undefined, attempts: number): string {
  if (attempts === 0) return 'no check could be sent';
  const checks = attempts === 1 ? '1 check' : `${attempts} checks`;
  return status === undefined ? `no status in ${checks}` : `${JSON.stringify(status)} after ${checks}`;
}

/**
 * A wait's deadline passed and the status is not final. **This is no failure of the payment**: the customer may still
 * approve it. Do not cancel the order and do not charge again. Check again later by `reference`.
 *
 * Before it at least one check was made, also if the deadline had passed when the wait began. Only the client's own limits
 * prevent that (a full queue, the pause after a 429): `attempts` is 0 then.
 *
 * @example
 * ```ts
 * if (error instanceof WaitTimeoutError) await askAgainLater(error.reference, error.startedAt);
 * ```
 */
export class WaitTimeoutError extends PaymentsError {
  declare readonly name: 'WaitTimeoutError';
  declare readonly code: 'wait_timeout';
  readonly reference: string;
  /** The last status, as the service wrote it if that is a plain word; `undefined` if no check was answered. */
  readonly lastStatus: string | undefined;
  /** How many checks were made. */
  readonly attempts: number;
  /** Milliseconds since `startedAt`. */
  readonly elapsed: number;
  /** When the wait began, or the charge was made, in milliseconds since 1970: pass it on to carry the wait on. */
  readonly startedAt: number;
  readonly #lastTransaction: Transaction | undefined;
  readonly #lastError: PaymentsError | undefined;

  constructor({ reference, lastTransaction, lastError, attempts, elapsed, startedAt }: WaitFacts) {
    const status = lastTransaction && printableStatus(lastTransaction);
    super(
      `${reference} has no final status after ${Math.round(elapsed / 1000)} s: ${seenAs(status, attempts)}` +
        `${lastError ? `, last error ${lastError.code}` : ''}. It may still be paid: do not cancel the order and do not ` +
        'charge again. Check again later.',
      { operation: 'verify', retryable: true, cause: lastError },
    );
    this.reference = reference;
    this.lastStatus = status;
    this.attempts = attempts;
    this.elapsed = elapsed;
    this.startedAt = startedAt;
    this.#lastTransaction = lastTransaction;
    this.#lastError = lastError;
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
