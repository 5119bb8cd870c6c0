import type { CreateOperation } from './api/operations.ts';
import type { Transaction } from './api/transaction.ts';
import type { CallsInFlight } from './calls-in-flight.ts';
import type { AnyTransaction } from './errors.ts';
import type { Report } from './events.ts';
import { resolveApiKey } from './http/attempt.ts';
import type { CreateRequest } from './idempotency/fingerprint.ts';
import type { KeyedResult } from './idempotency/send-idempotent.ts';
import type { Journal } from './journal/journal.ts';
import type { OrderMark } from './journal/record.ts';
import { detectMode } from './normalize-options.ts';
import type { Mode, NormalizedOptions, PollingRules, UnkeyedOptions } from './options.ts';
import { createWait } from './polling/normalize-wait.ts';
import type { Poller } from './polling/poller.ts';
import type { Waiter } from './polling/waiter.ts';

/** The same symbol in an ES module and in CommonJS. */
export const CLIENT_ACCESS: unique symbol = Symbol.for('payment-collection-client.client');

/** What `./follow-ups` and `./orders` use of a client, and nothing more. */
export interface ClientAccess {
  /** Of this interface: another version of the package refuses it. */
  readonly version: 1;
  readonly journal: Journal | undefined;
  readonly baseUrl: string;
  readonly maxAmount: number;
  readonly rules: PollingRules;
  readonly maxConcurrency: number;
  /** How long one check can take, in milliseconds. */
  readonly timeout: number;
  readonly report: Report;
  /** Redacts the API key in a key, a reference or another id. */
  readonly redactId: (id: string) => string;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  /** What `close` waits for. */
  readonly calls: CallsInFlight;
  /** Returns the mode of the API key. */
  resolveMode(signal: AbortSignal): Promise<Mode>;
  /**
   * Checks once, within the limits of the client. Waits on the same reference share the check. It rejects with the error
   * of the check, also with a temporary one, and with the reason of `signal`.
   */
  check(reference: string, options: CheckOptions): Promise<CheckedTransaction>;
  /** Creates a payment at most once for its key, as the methods of the client do. */
  readonly createPayment: CreatePayment;
}

/** The options of a payment of an order. */
export interface PaymentOptions extends UnkeyedOptions {
  idempotencyKey: string;
  /** It is recorded from the claim on. A key that has a record with another mark, or with none, is not used. */
  order?: OrderMark | undefined;
  /** Runs once the key is claimed, and before anything is sent. If it rejects, nothing is sent. */
  confirm?: ((attempts: number) => Promise<void>) | undefined;
}

/** Without a `result`, the key is not that order's, and nothing was sent. */
type CreatePayment = <Input, Request extends CreateRequest, Result extends AnyTransaction>(
  operation: CreateOperation<Input, Request, Result>,
  input: Input,
  options: PaymentOptions,
) => Promise<KeyedResult<Result>>;

/** @throws {TransactionMismatchError} if the transaction is not as `expect` says, whatever its status. */
interface CheckOptions {
  readonly expect: { amount: string; currency: string };
  readonly signal: AbortSignal;
  /** A check that the limits of the client have held back until it is aborted is not sent. It rejects with the reason. */
  readonly sendUntil: AbortSignal;
}

/** What one check returned. */
export interface CheckedTransaction {
  readonly transaction: Transaction;
  /** In milliseconds. */
  readonly retryAfter: number | undefined;
}

export function createClientAccess(
  client: NormalizedOptions,
  poller: Poller,
  closing: AbortSignal,
  calls: CallsInFlight,
  createPayment: CreatePayment,
): ClientAccess {
  const { journal, baseUrl, maxAmount, polling, timeout, report, redactReference } = client;
  const { rules, maxConcurrency } = polling;
  return {
    version: 1,
    journal,
    baseUrl,
    maxAmount,
    rules,
    maxConcurrency,
    timeout,
    report,
    redactId: redactReference,
    closing,
    calls,
    createPayment,
    resolveMode: async (signal) => detectMode(await resolveApiKey(client, 'verify', { timeout, signal })),
    check: (reference, { sendUntil, ...options }) =>
      new Promise((resolve) => {
        // The sweep bounds the time: the limits of the client can hold a check back for long.
        const own = poller.selectFor(sendUntil === closing ? undefined : sendUntil);
        const wait = createWait(reference, { ...options, timeout: Number.POSITIVE_INFINITY }, rules);
        let waiter: Waiter | undefined;
        const onEnd = () => {
          if (waiter && !waiter.group.inFlight && own.remove(waiter))
            resolve(Promise.reject(sendUntil.reason));
        };
        const ends = getAbortCallbacks(sendUntil);
        ends.add(onEnd);
        waiter = own.add({ ...wait, until: 'response' }, (transaction, retryAfter) => {
          ends.delete(onEnd);
          resolve(transaction instanceof Promise ? transaction : { transaction, retryAfter });
        });
        if (sendUntil.aborted) onEnd();
      }),
  };
}

const abortCallbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Returns what is called when a signal is aborted: one listener for all, since Node compares each with all others. */
function getAbortCallbacks(signal: AbortSignal): Set<() => void> {
  const known = abortCallbacks.get(signal);
  if (known) return known;
  const callbacks = new Set<() => void>();
  abortCallbacks.set(signal, callbacks);
  const callAll = () => {
    for (const call of callbacks) call();
  };
  signal.addEventListener('abort', callAll, { once: true });
  return callbacks;
}
