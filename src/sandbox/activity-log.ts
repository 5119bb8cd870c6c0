import type { Entry, LedgerObserver } from '../testing/ledger.ts';
import type { Exchange } from '../testing/service.ts';

/** A recent transaction, with its requests. */
export interface Row {
  readonly entry: Entry;
  /** The latest requests, oldest first. */
  readonly exchanges: Exchange[];
  /** How many requests there were, kept or not. */
  requests: number;
  /** The version of the log at the last change of this row. */
  version: number;
}

const MAX_ROWS = 500;
const MAX_EXCHANGES = 20;

/** The recent transactions and requests that the pages show, and a signal for each change. All of it is bounded. */
export class ActivityLog implements LedgerObserver {
  readonly #rows = new Map<string, Row>();
  #unmatched: Exchange[] = [];
  #version = 0;
  #lastRemovalVersion = 0;
  #change: PromiseWithResolvers<void> | undefined;

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** The version of the last deletion. A page with an older version needs the whole list again. */
  get lastRemovalVersion(): number {
    return this.#lastRemovalVersion;
  }

  /** The latest requests that belong to no transaction, oldest first. */
  get unmatched(): readonly Exchange[] {
    return this.#unmatched;
  }

  /** Returns the rows in the order of creation. */
  rows(): Row[] {
    return [...this.#rows.values()];
  }

  /** Resolves at the next change. */
  nextChange(): Promise<void> {
    this.#change ??= Promise.withResolvers();
    return this.#change.promise;
  }

  /** Adds the transactions of an earlier run. */
  restore(entries: readonly Entry[]): void {
    for (const entry of entries.slice(-MAX_ROWS)) this.created(entry);
  }

  created(entry: Entry): void {
    const row: Row = { entry, exchanges: [], requests: 0, version: 0 };
    this.#rows.set(entry.reference, row);
    if (this.#rows.size > MAX_ROWS) {
      for (const oldest of this.#rows.keys()) {
        this.#rows.delete(oldest);
        break;
      }
    }
    this.#touch(row);
  }

  changed({ reference }: Entry): void {
    const row = this.#rows.get(reference);
    if (row) this.#touch(row);
  }

  deleted({ reference }: Entry): void {
    if (!this.#rows.delete(reference)) return;
    this.notifyChange();
    this.#lastRemovalVersion = this.#version;
  }

  exchanged(exchange: Exchange): void {
    const row = exchange.reference === null ? undefined : this.#rows.get(exchange.reference);
    if (row) {
      row.requests++;
      row.exchanges.push(exchange);
      if (row.exchanges.length > MAX_EXCHANGES) row.exchanges.shift();
      this.#touch(row);
    } else if (exchange.status === null || exchange.status >= 400 || exchange.reference === null) {
      this.#unmatched = [...this.#unmatched.slice(1 - MAX_EXCHANGES), exchange];
      this.notifyChange();
    }
  }

  /** Makes every open page update, also for a change that is not in this log, such as a fault. */
  notifyChange(): void {
    this.#version++;
    this.#change?.resolve();
    this.#change = undefined;
  }

  #touch(row: Row): void {
    row.version = this.#version + 1;
    this.notifyChange();
  }
}
