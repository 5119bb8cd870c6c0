import type { OperationName } from '../contract/operation.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import type { Ending } from '../journal/record.ts';
import { sleep, within } from '../transport/deadline.ts';
import { type Moment, millisecondsSince, rightNow } from './moment.ts';
import { PATIENCE } from './patience.ts';

/** Pauses between the tries to record how a charge ended, in milliseconds. */
const PAUSES = [100, 200, 400, 800, 1600];

/** How long a renewal under way is waited for before the end is recorded, in milliseconds. */
const PATIENCE_WITH_RENEWAL = 5_000;

/**
 * A claim while its charge is under way: it is renewed, so that others wait instead of taking its process for dead. Once
 * a whole lease has passed without that, somebody may have settled the key: nothing is sent on it any more.
 */
export class HeldClaim {
  readonly #journal: Journal;
  readonly #beat: ReturnType<typeof setInterval>;
  #claim: Claim;
  #heardOf: Moment;
  #lost = false;
  #renewal: Promise<void> | undefined;

  /** `heardOf`: a moment before the claim was written. */
  constructor(journal: Journal, claim: Claim, heardOf: Moment) {
    this.#journal = journal;
    this.#claim = claim;
    this.#heardOf = heardOf;
    this.#beat = setInterval(() => {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
    }, journal.lease / 3);
  }

  /** @throws JournalError where the claim may have passed to somebody else */
  check(operation: OperationName): void {
    if (!this.#lost && millisecondsSince(this.#heardOf) < this.#journal.lease) return;
    const message = `${operation}: This process was held up, or its journal out of reach, for too long after it had claimed the key. Nothing was sent.`;
    throw new JournalError(message, { operation, retryable: true });
  }

  /** Records how the charge ended. `lost`: somebody else had settled the key. `failed`: it could not be recorded. */
  async end(ending: Ending): Promise<'recorded' | 'lost' | 'failed'> {
    clearInterval(this.#beat);
    try {
      return await within(PATIENCE, undefined, () => this.#record(ending));
    } catch {
      return 'failed';
    }
  }

  async #record(ending: Ending): Promise<'recorded' | 'lost' | 'failed'> {
    const renewal = this.#renewal ?? Promise.resolve();
    await within(PATIENCE_WITH_RENEWAL, undefined, () => renewal).catch(() => {});
    for (const pause of [0, ...PAUSES]) {
      if (pause > 0) await sleep(pause, undefined);
      try {
        return (await this.#journal.end(this.#claim, ending)) ? 'recorded' : 'lost';
      } catch {}
    }
    return 'failed';
  }

  async #renew(): Promise<void> {
    const asked = rightNow();
    try {
      const renewed = await this.#journal.renew(this.#claim);
      if (renewed) {
        this.#claim = renewed;
        this.#heardOf = asked;
      } else {
        this.#lost = true;
      }
    } catch {}
  }
}
