import { rawStatus, type Transaction } from '../api/transaction.ts';
import { cancelOnReturn } from './channel.ts';
import type { ResolvedWait } from './poll-group.ts';
import type { Poller } from './poller.ts';

/** Each change of status as it is seen, the final one last. Whoever stops reading leaves the wait. */
export function watch(waits: Poller, request: ResolvedWait): AsyncGenerator<Transaction, void, void> {
  return cancelOnReturn((onBegin) => statusChanges(waits, request, onBegin));
}

async function* statusChanges(
  waits: Poller,
  request: ResolvedWait,
  onBegin: (leave: () => void) => void,
): AsyncGenerator<Transaction, void, void> {
  const changes: Transaction[] = [];
  let seen: string | undefined;
  let wake = () => {};
  let over: (() => void) | undefined;

  const onTransaction = (transaction: Transaction) => {
    if (rawStatus(transaction) === seen) return;
    seen = rawStatus(transaction);
    changes.push(transaction);
    wake();
  };
  const end = (how: () => void) => {
    over = how;
    wake();
  };
  const wait = waits.add(
    { ...request, onTransaction },
    (transaction) => {
      onTransaction(transaction);
      end(() => {});
    },
    (reason) =>
      end(() => {
        throw reason;
      }),
  );
  const leave = () => {
    if (wait && waits.remove(wait)) end(() => {});
  };
  onBegin(leave);

  try {
    for (;;) {
      for (let change = changes.shift(); change; change = changes.shift()) yield change;
      if (over) return over();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    leave();
  }
}
