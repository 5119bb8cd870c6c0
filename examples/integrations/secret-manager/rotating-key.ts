import { AuthenticationError } from 'payment-collection-client';

/** @see RotatingKey */
export interface RotatingKeyOptions {
  /** How long a key is kept, in milliseconds. @default 300_000 */
  readonly maxAge?: number;
  /** A key younger than this is not fetched again when it is refused: it is the right one, and revoked. @default 10_000 */
  readonly leastAge?: number;
}

interface Kept {
  readonly key: string;
  readonly fetchedAt: number;
}

/**
 * The API key from a secret manager: kept for some minutes, fetched once for any number of calls at the same time, and
 * fetched again when the service refuses it.
 *
 * @example
 * ```ts
 * const key = new RotatingKey(() => secrets.read('payments-api-key'));
 * const payments = new PaymentsClient({ apiKey: key.current });
 * const charge = await key.renewedIfRefused(() => payments.chargeMobileMoney(input, { idempotencyKey }));
 * ```
 */
export class RotatingKey {
  readonly #fetch: () => Promise<string>;
  readonly #maxAge: number;
  readonly #leastAge: number;
  #kept: Kept | undefined;
  #fetching: Promise<Kept> | undefined;

  constructor(
    fetch: () => Promise<string>,
    { maxAge = 300_000, leastAge = 10_000 }: RotatingKeyOptions = {},
  ) {
    this.#fetch = fetch;
    this.#maxAge = maxAge;
    this.#leastAge = leastAge;
  }

  /** Give it to the client as `apiKey`. */
  readonly current = async (): Promise<string> => {
    const kept = this.#kept;
    if (kept && ageOf(kept) < this.#maxAge) return kept.key;
    try {
      return (await this.#renewed()).key;
    } catch (error) {
      // While the secret manager is down, the last key is still worth a try: the service says whether it holds.
      if (kept) return kept.key;
      throw error;
    }
  };

  /**
   * Makes a call, and makes it once more with a new key where the service refused the old one. That is safe for a charge
   * too: a 401 says that none was made.
   */
  async renewedIfRefused<T>(call: () => Promise<T>): Promise<T> {
    const before = this.#kept;
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof AuthenticationError) || !(await this.#isRenewed(before))) throw error;
      return call();
    }
  }

  /** Whether there is another key than the one that was refused. Of many calls that were, one fetches it. */
  async #isRenewed(before: Kept | undefined): Promise<boolean> {
    const kept = this.#kept;
    if (kept && before && kept.key !== before.key) return true;
    if (kept && ageOf(kept) < this.#leastAge) return false;
    try {
      return (await this.#renewed()).key !== kept?.key;
    } catch {
      return false;
    }
  }

  #renewed(): Promise<Kept> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<Kept> {
    this.#kept = { key: await this.#fetch(), fetchedAt: performance.now() };
    return this.#kept;
  }
}

const ageOf = ({ fetchedAt }: Kept) => performance.now() - fetchedAt;
