import type { Ledger } from '../service/ledger.ts';
import type { Exchange } from '../service/service.ts';

/** The requests that the dashboard shows together: those of one transaction, or of none. */
export interface RequestHistory {
  /** The latest ones, oldest first. */
  readonly groups: readonly RequestGroup[];
  /** How many older requests are in none of them. */
  readonly hidden: number;
  /** Whether the shop never received the response that has the reference. */
  readonly isResponseLost: boolean;
  /** Whether a verify showed that the shop has the reference all the same. */
  readonly isVerified: boolean;
}

/** One request, or several verifies in a row with the same result. */
export interface RequestGroup {
  readonly first: Exchange;
  last: Exchange;
  count: number;
}

const MAX_GROUPS = 20;

/** Finds the history of each transaction by its reference. That of the requests that belong to none has the name `null`. */
export function findHistories(
  exchanges: readonly Exchange[],
  ledger: Ledger,
): (name: string | null) => RequestHistory | undefined {
  const ended = exchanges.filter(({ duration }) => duration !== null);
  const byName = Map.groupBy(ended, ({ reference }) =>
    reference !== null && ledger.find(reference) ? reference : null,
  );
  return (name) => {
    // The service acted for a transaction that is no longer kept.
    const own = byName.get(name)?.filter(({ found }) => name !== null || found === null) ?? [];
    return own.length === 0 ? undefined : toHistory(own);
  };
}

function toHistory(exchanges: readonly Exchange[]): RequestHistory {
  const groups: RequestGroup[] = [];
  for (const exchange of exchanges) {
    const group = groups.at(-1);
    if (group && isSameVerify(group.last, exchange)) {
      group.last = exchange;
      group.count++;
    } else groups.push({ first: exchange, last: exchange, count: 1 });
  }
  const acted = exchanges.filter(({ found }) => found !== null);
  return {
    groups: groups.slice(-MAX_GROUPS),
    hidden: groups.slice(0, -MAX_GROUPS).reduce((sum, { count }) => sum + count, 0),
    isResponseLost: acted.some(({ request, status }) => request.operation !== 'verify' && status === null),
    isVerified: acted.some(({ request }) => request.operation === 'verify'),
  };
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
