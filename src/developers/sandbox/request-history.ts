import type { Exchange } from '../service/service.ts';

/** One request, or several verifies in a row with the same result. */
export interface RequestGroup {
  /** Different from that of every other group of its history. */
  readonly key: number;
  first: Exchange;
  last: Exchange;
  count: number;
}

const MAX_GROUPS = 20;

/** The latest requests of one transaction, or of none. It is bounded. */
export class RequestHistory {
  #groups: RequestGroup[] = [];
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

function isSameVerify(one: Exchange, other: Exchange): boolean {
  return (
    one.request.operation === 'verify' &&
    one.request.method === other.request.method &&
    one.request.path === other.request.path &&
    one.mode === other.mode &&
    one.hasKey === other.hasKey &&
    one.status === other.status &&
    one.fault === other.fault &&
    one.found === other.found &&
    one.errorBody === other.errorBody
  );
}
