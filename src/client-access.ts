import type { OperationName } from './api/operations.ts';
import type { Transaction } from './api/transaction.ts';
import type { RequestIds } from './http/request-id.ts';
import type { Send } from './http/send.ts';
import type { NormalizedOptions, WaitOptions } from './options.ts';
import { createWait, normalizeWait } from './polling/normalize-wait.ts';
import type { Poller } from './polling/poller.ts';
import { countAttempts, type Waiter } from './polling/waiter.ts';
import type { CallsInFlight } from './support/calls-in-flight.ts';

/** The same symbol in an ES module and in CommonJS. */
export const CLIENT_ACCESS: unique symbol = Symbol.for('payment-collection-client.client');

/** What is sent, checked and waited for through a client: by itself, by `./follow-ups` and by `./orders`. */
export interface ClientAccess {
  /** Of this interface: another version of the package refuses it. */
  readonly version: 1;
  /** Without the API key: what a client shows, also to a debugger, never holds it. */
  readonly client: Omit<NormalizedOptions, 'apiKey'>;
  readonly send: Send;
  /** Resolves with the API key, as a function of the caller's own returns it. */
  readonly resolveApiKey: (
    operation: OperationName,
    call: { readonly signal: AbortSignal | undefined; readonly timeout: number },
  ) => Promise<string>;
  readonly requestIds: RequestIds;
  readonly closing: AbortSignal;
  /** What `close` waits for. */
  readonly calls: CallsInFlight;
  /**
   * Checks once, within the limits of the client. Waits on the same reference share the check, but one that was asked before is not
   * taken. It rejects with the error of the check, also with a temporary one, and with the reason of `signal`.
   */
  check(reference: string, options: CheckOptions): Promise<CheckedTransaction>;
  /** Waits as `waitForFinalStatus` does. `age` is how long ago the last check was asked, in milliseconds. */
  waitForFinal(
    reference: string,
    options: WaitOptions,
  ): Promise<{ readonly transaction: Transaction; readonly age: number }>;
}

/** @throws {TransactionMismatchError} if the transaction is not as `expect` says, whatever its status. */
export interface CheckOptions {
  readonly expect: { amount: string; currency: string };
  readonly signal: AbortSignal;
  /** A check that the limits of the client have held back until it is aborted is not sent. It rejects with the reason. */
  readonly sendUntil: AbortSignal;
}

export interface CheckedTransaction {
  readonly transaction: Transaction;
  /** In milliseconds. */
  readonly retryAfter: number | undefined;
}

export function createClientAccess(
  parts: Omit<ClientAccess, 'version' | 'check' | 'waitForFinal'>,
  poller: Poller,
): ClientAccess {
  const { client, closing } = parts;
  const access: ClientAccess = {
    version: 1,
    ...parts,
    check: (reference, { sendUntil, ...options }) =>
      new Promise((resolve) => {
        // The sweep bounds the time: the limits of the client can hold a check back for long.
        const own = poller.selectFor(sendUntil === closing ? undefined : sendUntil);
        const { rules } = client.polling;
        const wait = createWait(reference, { ...options, timeout: Number.POSITIVE_INFINITY }, rules);
        let waiter: Waiter | undefined;
        const onEnd = () => {
          const isAsked = waiter?.group.inFlight && countAttempts(waiter) > 0;
          if (waiter && !isAsked && own.remove(waiter)) resolve(Promise.reject(sendUntil.reason));
        };
        sendUntil.addEventListener('abort', onEnd);
        waiter = own.add({ ...wait, until: 'response' }, (transaction, retryAfter) => {
          // It would keep a signal of `AbortSignal.any` in memory.
          sendUntil.removeEventListener('abort', onEnd);
          resolve(transaction instanceof Promise ? transaction : { transaction, retryAfter });
        });
        if (sendUntil.aborted) onEnd();
      }),
    waitForFinal: (reference, options) =>
      new Promise((resolve) => {
        const wait = normalizeWait(reference, options, client.polling.rules);
        poller.selectFor().add(wait, (transaction, _retryAfter, age = 0) => {
          resolve(transaction instanceof Promise ? transaction : { transaction, age });
        });
      }),
  };
  // It has the API key, which no log of this object must show.
  return Object.defineProperty(access, 'client', { enumerable: false });
}
