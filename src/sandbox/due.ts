import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import type { Entry, Ledger, LedgerObserver } from '../testing/ledger.ts';

/** Looks at each transaction when what is planned for it comes due: the ledger has no timer of its own. */
export class SettlementTimers implements LedgerObserver {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #ledger: Ledger | undefined;

  watch(ledger: Ledger, entries: readonly Entry[]): void {
    this.#ledger = ledger;
    for (const entry of entries) this.changed(entry);
  }

  created(entry: Entry): void {
    this.changed(entry);
  }

  changed({ reference, plan }: Entry): void {
    clearTimeout(this.#timers.get(reference));
    this.#timers.delete(reference);
    if (!plan || !('settleAt' in plan)) return;
    const delay = Math.min(Math.max(plan.settleAt - Date.now(), 0), MAX_TIMEOUT_MS);
    this.#timers.set(
      reference,
      setTimeout(() => this.#look(reference), delay),
    );
  }

  dropped({ reference }: Entry): void {
    clearTimeout(this.#timers.get(reference));
    this.#timers.delete(reference);
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #look(reference: string): void {
    const entry = this.#ledger?.find(reference);
    // It is not yet due: the delay was too long for one timer, or the timer came a moment early.
    if (entry?.plan && 'settleAt' in entry.plan) this.changed(entry);
  }
}
