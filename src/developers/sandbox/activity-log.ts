import type { Entry, Ledger, LedgerObserver } from '../service/ledger.ts';
import type { Exchange } from '../service/service.ts';
import { RequestHistory } from './request-history.ts';

const MAX_HISTORIES = 500;

/** The recent requests that the pages show, and a signal for each change. All of it is bounded. */
export class ActivityLog implements LedgerObserver {
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

  /** Returns the latest requests of a transaction. `undefined` if it had none, or none for a long time. */
  findHistory(reference: string): RequestHistory | undefined {
    return this.#histories.get(reference);
  }

  /** Resolves at the next change. */
  nextChange(): Promise<void> {
    this.#change ??= Promise.withResolvers();
    return this.#change.promise;
  }

  created(): void {
    this.notifyChange();
  }

  changed(): void {
    this.notifyChange();
  }

  deleted({ reference }: Entry): void {
    this.#histories.delete(reference);
    this.notifyChange();
  }

  /** Adds a request. Its reference can be one that no transaction has. */
  exchanged(exchange: Exchange, ledger: Ledger): void {
    const { reference } = exchange;
    if (reference !== null && ledger.find(reference)) {
      const history = this.#histories.get(reference) ?? new RequestHistory();
      history.add(exchange);
      this.#histories.delete(reference);
      this.#histories.set(reference, history);
      const [oldest = reference] = this.#histories.keys();
      if (this.#histories.size > MAX_HISTORIES) this.#histories.delete(oldest);
    } else {
      this.#unmatched.add(exchange);
    }
    this.notifyChange();
  }

  /** The client was gone before it had the whole response. */
  lostResponse(exchange: Exchange): void {
    const history = exchange.reference === null ? undefined : this.#histories.get(exchange.reference);
    (history ?? this.#unmatched).noteLoss(exchange);
    this.notifyChange();
  }

  /** Makes every open page update, also for a change that is not in this log, such as a fault. */
  notifyChange(): void {
    this.#version++;
    this.#change?.resolve();
    this.#change = undefined;
  }
}
