import { rawStatus, type Transaction } from '../contract/transaction.ts';
import { endingAtOnce } from './ending-at-once.ts';
import type { WaitRequest } from './wait.ts';
import type { Waits } from './waits.ts';

/** Each change of status as it is seen, the final one last. Whoever stops reading leaves the wait. */
export function watch(waits: Waits, request: WaitRequest): AsyncGenerator<Transaction, void, void> {
  return endingAtOnce((onBegin) => changesOf(waits, request, onBegin));
}

async function* changesOf(
  waits: Waits,
  request: WaitRequest,
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
  const wait = waits.join(
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
    if (wait && waits.leave(wait)) end(() => {});
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
