import type { Clock } from './clock.ts';
import type { Entry, Ledger, LedgerObserver } from './ledger.ts';

/**
 * Settles each transaction when its plan is due, so that pages, the state file and webhooks show it. The ledger has no
 * timer, and settles only on access.
 */
export class SettlementTimers implements LedgerObserver {
  readonly #clock: Clock;
  readonly #cancels = new Map<string, () => void>();
  #ledger: Ledger | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(ledger: Ledger): void {
    this.#ledger = ledger;
    for (const entry of ledger.list()) this.#schedule(entry);
  }

  /** Cancels every timer. The ledger still settles on access. */
  stop(): void {
    this.#ledger = undefined;
    for (const reference of this.#cancels.keys()) this.#cancel(reference);
  }

  created(entry: Entry): void {
    this.#schedule(entry);
  }

  changed(entry: Entry): void {
    this.#schedule(entry);
  }

  deleted({ reference }: Entry): void {
    this.#cancel(reference);
  }

  #schedule({ reference, plan }: Entry): void {
    this.#cancel(reference);
    if (!this.#ledger || !plan || !('settleAt' in plan)) return;
    // A read of the transaction settles it.
    const settle = () => this.#ledger?.find(reference);
    this.#cancels.set(reference, this.#clock.schedule(plan.settleAt, settle));
  }

  #cancel(reference: string): void {
    this.#cancels.get(reference)?.();
    this.#cancels.delete(reference);
  }
}
