import { AuthenticationError } from 'payment-collection-client';

/** @see RotatingKey */
export interface RotatingKeyOptions {
  /** How long a key is cached, in milliseconds. @default 300_000 */
  readonly maxAge?: number;
  /** A rejected key younger than this, in milliseconds, is not fetched again: it is current and revoked. @default 10_000 */
  readonly minAge?: number;
}

interface CachedKey {
  readonly key: string;
  readonly fetchedAt: number;
}

/**
 * The API key from a secret manager. It is cached for some minutes, fetched once for concurrent calls, and fetched again
 * when the service rejects it.
 *
 * @example
 * ```ts
 * const key = new RotatingKey(() => secrets.read('payments-api-key'));
 * const payments = new PaymentsClient({ apiKey: key.current });
 * const charge = await key.retryIfRejected(() => payments.chargeMobileMoney(input, { idempotencyKey }));
 * ```
 */
export class RotatingKey {
  readonly #fetch: () => Promise<string>;
  readonly #maxAge: number;
  readonly #minAge: number;
  #cached: CachedKey | undefined;
  #fetching: Promise<CachedKey> | undefined;

  constructor(fetch: () => Promise<string>, { maxAge = 300_000, minAge = 10_000 }: RotatingKeyOptions = {}) {
    this.#fetch = fetch;
    this.#maxAge = maxAge;
    this.#minAge = minAge;
  }

  /** Give it to the client as `apiKey`. */
  readonly current = async (): Promise<string> => {
    const cached = this.#cached;
    if (cached && ageOf(cached) < this.#maxAge) return cached.key;
    try {
      return (await this.#fetchShared()).key;
    } catch (error) {
      // While the secret manager is down, the last key might still be valid, so it is used.
      if (cached) return cached.key;
      throw error;
    }
  };

  /**
   * Makes a call, and once more with a new key if the service rejected the old one. That is safe for a charge too: a 401
   * means `rejected`, so no charge exists.
   */
  async retryIfRejected<T>(call: () => Promise<T>): Promise<T> {
    const before = this.#cached;
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof AuthenticationError) || !(await this.#isRenewed(before))) throw error;
      return call();
    }
  }

  /** Whether there is another key than the rejected one. Of many rejected calls, one fetches it. */
  async #isRenewed(before: CachedKey | undefined): Promise<boolean> {
    const cached = this.#cached;
    if (cached && before && cached.key !== before.key) return true;
    if (cached && ageOf(cached) < this.#minAge) return false;
    try {
      return (await this.#fetchShared()).key !== cached?.key;
    } catch {
      return false;
    }
  }

  #fetchShared(): Promise<CachedKey> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<CachedKey> {
    this.#cached = { key: await this.#fetch(), fetchedAt: performance.now() };
    return this.#cached;
  }
}

const ageOf = ({ fetchedAt }: CachedKey) => performance.now() - fetchedAt;
