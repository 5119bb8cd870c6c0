import type { OperationName } from '../contract/operation.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import type { Ending } from '../journal/record.ts';
import { sleep } from '../transport/deadline.ts';
import { type Moment, millisecondsSince, rightNow } from './moment.ts';

/** Pauses between the tries to record how a charge ended, in milliseconds. */
const PAUSES = [100, 200, 400, 800, 1600];

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
    const message = `${operation}: this process was held up for too long after it had claimed the key. Nothing was sent.`;
    throw new JournalError(message, { operation, retryable: true });
  }

  /** Records how the charge ended. `lost`: somebody else had settled the key. `failed`: the journal is out of reach. */
  async end(ending: Ending): Promise<'recorded' | 'lost' | 'failed'> {
    clearInterval(this.#beat);
    await this.#renewal;
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
