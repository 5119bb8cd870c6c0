import type { Entry, LedgerObserver } from '../testing/ledger.ts';
import type { Exchange } from '../testing/service.ts';
import { RequestHistory } from './request-history.ts';

/** A recent transaction. */
export interface Row {
  readonly entry: Entry;
  /** The version of the log at the last change of this row. */
  version: number;
}

const MAX_ROWS = 500;
const MAX_HISTORIES = 500;

/** The recent transactions and requests that the pages show, and a signal for each change. All of it is bounded. */
export class ActivityLog implements LedgerObserver {
  readonly #rows = new Map<string, Row>();
  /** By reference. The one with the latest request is the last. */
  readonly #histories = new Map<string, RequestHistory>();
  #unmatched = new RequestHistory();
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

  /** The latest requests that belong to no transaction. */
  get unmatched(): RequestHistory {
    return this.#unmatched;
  }

  /** Returns the rows in the order of creation. */
  rows(): Row[] {
    return [...this.#rows.values()];
  }

  /** Returns the latest requests of a transaction. `undefined` if it had none, or none for a long time. */
  findHistory(reference: string): RequestHistory | undefined {
    return this.#histories.get(reference);
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
    const row: Row = { entry, version: 0 };
    this.#rows.set(entry.reference, row);
    deleteOldest(this.#rows, MAX_ROWS);
    this.#touch(row);
  }

  changed({ reference }: Entry): void {
    const row = this.#rows.get(reference);
    if (row) this.#touch(row);
    else this.notifyChange();
  }

  deleted({ reference }: Entry): void {
    this.#histories.delete(reference);
    this.#rows.delete(reference);
    this.notifyChange();
    this.#lastRemovalVersion = this.#version;
  }

  exchanged(exchange: Exchange): void {
    const { reference, found } = exchange;
    if (reference !== null && (found !== null || this.#rows.has(reference))) {
      const history = this.#histories.get(reference) ?? new RequestHistory();
      history.add(exchange);
      this.#histories.delete(reference);
      this.#histories.set(reference, history);
      deleteOldest(this.#histories, MAX_HISTORIES);
    } else {
      this.#unmatched.add(exchange);
    }
    this.notifyChange();
  }

  /** The client was gone before it had the whole response. */
  lostResponse(exchange: Exchange): void {
    const history = exchange.reference === null ? undefined : this.#histories.get(exchange.reference);
    (history ?? this.#unmatched).lostResponse(exchange);
    this.notifyChange();
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

function deleteOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
