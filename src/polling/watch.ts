import { getRawStatus, type Transaction } from '../api/transaction.ts';
import { createChannel } from './channel.ts';
import type { NormalizedWait } from './normalize-wait.ts';
import type { Poller } from './poller.ts';
import type { Waiter } from './waiter.ts';

/** Yields each change of status, the final one last. A reader who leaves ends the wait. */
export function watch(poller: Poller, request: NormalizedWait): AsyncGenerator<Transaction, void, void> {
  return createChannel<Transaction>((channel) => {
    let lastStatus: string | undefined;
    const onTransaction = (transaction: Transaction) => {
      const status = getRawStatus(transaction);
      if (status === lastStatus) return;
      lastStatus = status;
      channel.push(transaction);
    };

    let waiter: Waiter | undefined;
    const ended = new Promise<Transaction>((resolve) => {
      waiter = poller.add({ ...request, onTransaction }, resolve);
    });
    ended.then((transaction) => {
      onTransaction(transaction);
      channel.end();
    }, channel.fail);
    return {
      stop() {
        if (waiter) poller.remove(waiter);
      },
    };
  });
}
