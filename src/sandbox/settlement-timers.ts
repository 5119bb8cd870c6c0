import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import type { Entry, Ledger, LedgerObserver } from '../testing/ledger.ts';

/**
 * Settles each transaction when its plan is due, so that the pages and the state file show it. The ledger has no timer,
 * and settles only on access.
 */
export class SettlementTimers implements LedgerObserver {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #ledger: Ledger | undefined;

  start(ledger: Ledger, entries: readonly Entry[]): void {
    this.#ledger = ledger;
    for (const entry of entries) this.#schedule(entry);
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
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
    if (!plan || !('settleAt' in plan)) return;
    const delay = Math.min(Math.max(plan.settleAt - Date.now(), 0), MAX_TIMEOUT_MS);
    this.#timers.set(
      reference,
      setTimeout(() => this.#settle(reference), delay),
    );
  }

  #settle(reference: string): void {
    const entry = this.#ledger?.find(reference);
    // Not due yet: the delay was too long for one timer, or the timer fired slightly early.
    if (entry?.plan && 'settleAt' in entry.plan) this.#schedule(entry);
  }

  #cancel(reference: string): void {
    clearTimeout(this.#timers.get(reference));
    this.#timers.delete(reference);
  }
}
