import type { Exchange } from '../testing/service.ts';
import { orUndefined } from '../untrusted.ts';

/** One request, or several verifies in a row with the same result. */
export interface RequestGroup {
  /** Different from that of every other group of its history. */
  readonly key: number;
  first: Exchange;
  last: Exchange;
  count: number;
}

const MAX_GROUPS = 20;
const MAX_BODY_CHARS = 16_384;

/** The latest requests of one transaction, or of none. It is bounded. */
export class RequestHistory {
  #groups: RequestGroup[] = [];
  readonly #groupsByExchange = new WeakMap<Exchange, RequestGroup>();
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
    if (exchange.request.operation !== 'verify') this.#isResponseLost ||= isResponseLost(exchange);
    else if (exchange.found !== null) this.#isVerified = true;
    const group = this.#groups.at(-1);
    if (group && isSameVerify(group.last, exchange)) {
      group.last = exchange;
      group.count++;
      this.#groupsByExchange.set(exchange, group);
      return;
    }
    const kept = shortenBodies(exchange);
    const added = { key: ++this.#added, first: kept, last: kept, count: 1 };
    this.#groups.push(added);
    this.#groupsByExchange.set(exchange, added);
    if (this.#groups.length > MAX_GROUPS) this.#hidden += this.#groups.shift()?.count ?? 0;
  }

  /** Shows a request that was added before as one whose response did not arrive. */
  lostResponse(exchange: Exchange): void {
    if (exchange.request.operation !== 'verify') this.#isResponseLost ||= isResponseLost(exchange);
    const group = this.#groupsByExchange.get(exchange);
    if (!group) return;
    group.last = { ...group.last, status: null };
    if (group.count === 1) group.first = group.last;
  }
}

/** Whether the service acted, and the response broke before the client had it. */
function isResponseLost({ found, status }: Exchange): boolean {
  return found !== null && status === null;
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

/** Shortens bodies that are too large to keep for each of many requests. */
function shortenBodies(exchange: Exchange): Exchange {
  const { request, errorBody } = exchange;
  const body = shortenBody(request.body);
  if (body === request.body && (errorBody ?? '').length <= MAX_BODY_CHARS) return exchange;
  return {
    ...exchange,
    request: { ...request, body },
    errorBody: errorBody?.slice(0, MAX_BODY_CHARS) ?? null,
  };
}

/** Returns the body of a request as it is, or the beginning of its text if that is long. */
export function shortenBody(body: unknown): unknown {
  // JSON that is nested too deep can be read, but not written.
  const text = typeof body === 'string' ? body : orUndefined(() => JSON.stringify(body));
  if (text === undefined) return NOT_SHOWN;
  return text.length > MAX_BODY_CHARS ? text.slice(0, MAX_BODY_CHARS) : body;
}

/** In place of a body that cannot be shown. */
export const NOT_SHOWN = '[nested too deep to show]';
