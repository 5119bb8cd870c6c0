import type { Entry, LedgerObserver } from '../testing/ledger.ts';
import type { Exchange } from '../testing/service.ts';
import { RequestHistory } from './request-history.ts';

const MAX_ENTRIES = 500;
const MAX_HISTORIES = 500;

/** The recent transactions and requests that the pages show, and a signal for each change. All of it is bounded. */
export class ActivityLog implements LedgerObserver {
  readonly #entries = new Map<string, Entry>();
  /** By reference. The one with the latest request is the last. */
  readonly #histories = new Map<string, RequestHistory>();
  #unmatched = new RequestHistory();
  #version = 0;
  #change: PromiseWithResolvers<void> | undefined;

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** The latest requests that belong to no transaction. */
  get unmatched(): RequestHistory {
    return this.#unmatched;
  }

  /** Returns the recent transactions in the order of creation. */
  entries(): Entry[] {
    return [...this.#entries.values()];
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
    for (const entry of entries.slice(-MAX_ENTRIES)) this.created(entry);
  }

  created(entry: Entry): void {
    this.#entries.set(entry.reference, entry);
    deleteOldest(this.#entries, MAX_ENTRIES);
    this.notifyChange();
  }

  changed(): void {
    this.notifyChange();
  }

  deleted({ reference }: Entry): void {
    this.#histories.delete(reference);
    this.#entries.delete(reference);
    this.notifyChange();
  }

  exchanged(exchange: Exchange): void {
    const { reference, found } = exchange;
    if (reference !== null && (found !== null || this.#entries.has(reference))) {
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
}

function deleteOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
