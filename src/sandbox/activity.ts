import type { Entry, LedgerObserver } from '../testing/ledger.ts';
import type { Exchange } from '../testing/service.ts';

/** A transaction of late, with the requests behind it. */
export interface Row {
  readonly entry: Entry;
  /** The latest, oldest first. */
  readonly exchanges: Exchange[];
  /** All that there were, kept or not. */
  requests: number;
  version: number;
}

const ROWS = 500;
const EXCHANGES = 20;

/** What the pages show: the latest transactions and requests, and who waits for news of them. All of it is bounded. */
export class Activity implements LedgerObserver {
  readonly #rows = new Map<string, Row>();
  #others: Exchange[] = [];
  #version = 0;
  #shrunkAt = 0;
  #news: PromiseWithResolvers<void> | undefined;

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** The version at which a transaction last vanished: a page that saw less has to be told of all. */
  get lastRemovalVersion(): number {
    return this.#shrunkAt;
  }

  /** The latest requests that belong to no transaction, oldest first. */
  get others(): readonly Exchange[] {
    return this.#others;
  }

  /** In the order of creation. */
  rows(): Row[] {
    return [...this.#rows.values()];
  }

  /** Takes up what an earlier run left. */
  restore(entries: readonly Entry[]): void {
    for (const entry of entries.slice(-ROWS)) this.created(entry);
  }

  created(entry: Entry): void {
    const row: Row = { entry, exchanges: [], requests: 0, version: 0 };
    this.#rows.set(entry.reference, row);
    if (this.#rows.size > ROWS) {
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

  dropped({ reference }: Entry): void {
    if (!this.#rows.delete(reference)) return;
    this.wake();
    this.#shrunkAt = this.#version;
  }

  exchanged(exchange: Exchange): void {
    const row = exchange.reference === null ? undefined : this.#rows.get(exchange.reference);
    if (row) {
      row.requests++;
      row.exchanges.push(exchange);
      if (row.exchanges.length > EXCHANGES) row.exchanges.shift();
      this.#touch(row);
    } else if (exchange.status === null || exchange.status >= 400 || exchange.reference === null) {
      this.#others = [...this.#others.slice(1 - EXCHANGES), exchange];
      this.wake();
    }
  }

  /** Resolves at the next change. */
  nextChange(): Promise<void> {
    this.#news ??= Promise.withResolvers();
    return this.#news.promise;
  }

  /** Lets everyone who waits for news look again. */
  wake(): void {
    this.#version++;
    this.#news?.resolve();
    this.#news = undefined;
  }

  #touch(row: Row): void {
    row.version = this.#version + 1;
    this.wake();
  }
}
