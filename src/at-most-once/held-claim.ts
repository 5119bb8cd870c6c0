import type { OperationName } from '../contract/operation.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import type { Completion } from '../journal/record.ts';
import { sleep, withTimeout } from '../transport/deadline.ts';
import { elapsedSince, readClocks, type Timestamp } from './moment.ts';
import { JOURNAL_TIMEOUT } from './patience.ts';

/** Pauses between the tries to record how a charge ended, in milliseconds. */
const RETRY_DELAYS = [100, 200, 400, 800, 1600];

/** How long a renewal under way is waited for before the end is recorded, in milliseconds. */
const RENEWAL_TIMEOUT = 5_000;

/**
 * A claim while its charge is under way: it is renewed, so that others wait instead of taking its process for dead. Once
 * a whole lease has passed without that, somebody may have settled the key: nothing is sent on it any more.
 */
export class ClaimLease {
  readonly #journal: Journal;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #claim: Claim;
  #renewedAt: Timestamp;
  #expired = false;
  #renewal: Promise<void> | undefined;

  /** `heardOf`: a moment before the claim was written. */
  constructor(journal: Journal, claim: Claim, heardOf: Timestamp) {
    this.#journal = journal;
    this.#claim = claim;
    this.#renewedAt = heardOf;
    this.#heartbeat = setInterval(() => {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
    }, journal.lease / 3);
  }

  /** @throws JournalError where the claim may have passed to somebody else */
  assertHeld(operation: OperationName): void {
    if (!this.#expired && elapsedSince(this.#renewedAt) < this.#journal.lease) return;
    const message = `${operation}: This process was held up, or its journal out of reach, for too long after it had claimed the key. Nothing was sent.`;
    throw new JournalError(message, { operation, retryable: true });
  }

  /** Records how the charge ended. `lost`: somebody else had settled the key. `failed`: it could not be recorded. */
  async end(ending: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    clearInterval(this.#heartbeat);
    try {
      return await withTimeout(JOURNAL_TIMEOUT, undefined, () => this.#record(ending));
    } catch {
      return 'failed';
    }
  }

  async #record(ending: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    const renewal = this.#renewal ?? Promise.resolve();
    await withTimeout(RENEWAL_TIMEOUT, undefined, () => renewal).catch(() => {});
    for (const pause of [0, ...RETRY_DELAYS]) {
      if (pause > 0) await sleep(pause, undefined);
      try {
        return (await this.#journal.complete(this.#claim, ending)) ? 'recorded' : 'lost';
      } catch {}
    }
    return 'failed';
  }

  async #renew(): Promise<void> {
    const asked = readClocks();
    try {
      const renewed = await this.#journal.renew(this.#claim);
      if (renewed) {
        this.#claim = renewed;
        this.#renewedAt = asked;
      } else {
        this.#expired = true;
      }
    } catch {}
  }
}
