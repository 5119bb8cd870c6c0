import type { Entry, Ledger, LedgerObserver } from '../service/ledger.ts';
import type { Exchange } from '../service/service.ts';

const MAX_HISTORIES = 500;

/** The recent requests that the dashboard shows, by transaction. All of it is bounded. */
export class RequestHistories implements LedgerObserver {
  /** By reference. The one with the latest request is the last. */
  readonly #byReference = new Map<string, RequestHistory>();
  /** The latest requests that belong to no transaction. */
  readonly unmatched = new RequestHistory();

  /** Returns the latest requests of a transaction. `undefined` if it had none, or none for a long time. */
  find(reference: string): RequestHistory | undefined {
    return this.#byReference.get(reference);
  }

  /** Adds a request. Its reference can be one that no transaction has. */
  add(exchange: Exchange, ledger: Ledger): void {
    const { reference } = exchange;
    if (reference === null || !ledger.find(reference)) {
      this.unmatched.add(exchange);
      return;
    }
    const history = this.#byReference.get(reference) ?? new RequestHistory();
    history.add(exchange);
    this.#byReference.delete(reference);
    this.#byReference.set(reference, history);
    const [oldest = reference] = this.#byReference.keys();
    if (this.#byReference.size > MAX_HISTORIES) this.#byReference.delete(oldest);
  }

  /** Notes that the client was gone before it had the whole response. */
  noteLoss(exchange: Exchange): void {
    const history = exchange.reference === null ? undefined : this.find(exchange.reference);
    (history ?? this.unmatched).noteLoss(exchange);
  }

  deleted({ reference }: Entry): void {
    this.#byReference.delete(reference);
  }
}

/** One request, or several verifies in a row with the same result. */
export interface RequestGroup {
  /** Different from that of every other group of its history. */
  readonly key: number;
  readonly first: Exchange;
  last: Exchange;
  count: number;
}

const MAX_GROUPS = 20;

/** The latest requests of one transaction, or of none. */
export class RequestHistory {
  readonly #groups: RequestGroup[] = [];
  #added = 0;
  #hidden = 0;
  #isResponseLost = false;
  #isVerified = false;

  /** Oldest first. */
  get groups(): readonly RequestGroup[] {
    return this.#groups;
  }

  /** How many older requests are no longer in a group. */
  get hidden(): number {
    return this.#hidden;
  }

  /** Whether the shop never received the response that has the reference. */
  get isResponseLost(): boolean {
    return this.#isResponseLost;
  }

  /** Whether a verify showed that the shop has the reference all the same. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  add(exchange: Exchange): void {
    if (exchange.request.operation === 'verify' && exchange.found !== null) this.#isVerified = true;
    this.noteLoss(exchange);
    const group = this.#groups.at(-1);
    if (group && isSameVerify(group.last, exchange)) {
      group.last = exchange;
      group.count++;
      return;
    }
    this.#groups.push({ key: ++this.#added, first: exchange, last: exchange, count: 1 });
    if (this.#groups.length > MAX_GROUPS) this.#hidden += this.#groups.shift()?.count ?? 0;
  }

  /** Notes whether the service acted, and the response broke before the client had it. */
  noteLoss({ request, found, status }: Exchange): void {
    if (request.operation !== 'verify' && found !== null && status === null) this.#isResponseLost = true;
  }
}

const sameInGroup = ['mode', 'hasKey', 'status', 'fault', 'found', 'errorBody'] as const;

function isSameVerify(one: Exchange, other: Exchange): boolean {
  return (
    one.request.operation === 'verify' &&
    one.request.method === other.request.method &&
    one.request.path === other.request.path &&
    sameInGroup.every((name) => one[name] === other[name])
  );
}
