import { atMostOnce } from './at-most-once/at-most-once.ts';
import type { Creation } from './at-most-once/attempt.ts';
import type { MobileMoneyCharge } from './contract/answer.ts';
import type { ChargeMobileMoneyInput, InitializeInput, VerifyInput } from './contract/input.ts';
import type { Operation } from './contract/operation.ts';
import type { InitializedPayment, Transaction } from './contract/transaction.ts';
import { ClosedError } from './errors.ts';
import * as operations from './operations.ts';
import type {
  CreateOptions,
  PaymentsClientOptions,
  RequestOptions,
  ResolvedOptions,
  VerifyOptions,
} from './options.ts';
import { type Check, checkOf } from './polling/check.ts';
import { type Reconciled, reconcile } from './polling/reconcile.ts';
import { resolveWait } from './polling/resolve-wait.ts';
import { Waits } from './polling/waits.ts';
import { watch } from './polling/watch.ts';
import type { ReconcileOptions, WaitOptions } from './polling-options.ts';
import type { AnyTransaction } from './request-errors.ts';
import { checkedOptions, resolveOptions } from './resolve-options.ts';
import type { Answer } from './transport/attempt.ts';
import { createSend, prepare, type Send } from './transport/transport.ts';

/**
 * The service, for one merchant. Make one client and keep it.
 *
 * @throws ConfigurationError where an option cannot work; the message says what to do.
 *
 * @example
 * ```ts
 * const payments = new PaymentsClient({ apiKey: 'sk_test_…', baseUrl: 'https://…/api/v1' });
 * const { reference, checkout_url } = await payments.initialize({
 *   amount: '25.50',
 *   customer_email: 'ama@example.com',
 * });
 * ```
 */
export class PaymentsClient {
  readonly #options: ResolvedOptions;
  readonly #send: Send;
  readonly #waits: Waits;
  readonly #closing = new AbortController();

  constructor(options: PaymentsClientOptions = {}) {
    this.#options = resolveOptions(options);
    this.#send = createSend(this.#options, this.#closing.signal, (retryAfter, reference) =>
      this.#waits.rateLimited(retryAfter, reference),
    );
    this.#waits = new Waits(
      // Where it throws at once, that is the poll's fault too.
      async (reference, once) =>
        this.#send(prepare(this.#options, operations.verify, { reference }, { ...once, maxRetries: 0 })),
      this.#options.polling,
      this.#options.report,
    );
  }

  /** `test` for a key of the shape `sk_test_…`. SPEC.md, 5, shows no live key, so anything else is `unknown`. */
  get mode(): 'test' | 'unknown' {
    return this.#options.mode;
  }

  /**
   * Starts a payment by checkout page: send the customer to `checkout_url`, keep `reference` (SPEC.md, 4.1).
   *
   * @throws InvalidInputError before anything is sent; OutcomeUnknownError, APIError, ConnectionError or
   * TransactionMismatchError after. Starting another payment charges nobody twice.
   */
  async initialize(input: InitializeInput, options: CreateOptions = {}): Promise<InitializedPayment> {
    return this.#create(operations.initialize, input, options);
  }

  /**
   * Charges a customer's Mobile Money number: a PIN prompt appears on the phone (SPEC.md, 4.2). It works in live mode
   * only. The result is `processing`: wait for the final status by its `reference`.
   *
   * @throws InvalidInputError before anything is sent; OutcomeUnknownError where a charge may exist all the same (do not
   * charge again); APIError or ConnectionError where none does; TransactionMismatchError where another sum was charged.
   * With an `idempotencyKey` also JournalError, where it could not be recorded and so was not sent, and
   * IdempotencyConflictError; OutcomeUnknownError then also where an earlier call under the key was never settled.
   *
   * @example
   * ```ts
   * const charge = await payments.chargeMobileMoney(input, { idempotencyKey: `order-${order.id}` });
   * ```
   */
  async chargeMobileMoney(
    input: ChargeMobileMoneyInput,
    options: CreateOptions = {},
  ): Promise<MobileMoneyCharge> {
    return this.#create(operations.chargeMobileMoney, input, options);
  }

  /**
   * The transaction as it is now (SPEC.md, 4.3). Only `status: 'success'` means paid; hold its amount against the order
   * with `expect`.
   *
   * @throws TransactionMismatchError where `expect` does not hold; APIError, ConnectionError, RequestTimeoutError or
   * UnexpectedResponseError where it could not be learned: that is no statement about the payment.
   *
   * @example
   * ```ts
   * const transaction = await payments.verify(reference, { expect: { amount: '25.50', currency: 'GHS' } });
   * if (transaction.status === 'success') await fulfil(order);
   * ```
   */
  async verify(reference: string, options: VerifyOptions = {}): Promise<Transaction> {
    const { expect, ...rest } = checkedOptions(options);
    return (await this.#read({ reference, expect }, rest)).result;
  }

  /**
   * Waits until the transaction is final, through every passing fault: connection, timeout, 408, 425, 429, 5xx, an
   * answer that cannot be read. `failed` and `abandoned` are results, not errors. Waits on one reference share their
   * polls.
   *
   * @throws WaitTimeoutError at the deadline, which is no failure of the payment; TransactionMismatchError where
   * `expect` does not hold; APIError where the service refuses; ClosedError; the signal's own reason.
   *
   * @example
   * ```ts
   * const { reference } = await payments.chargeMobileMoney(input);
   * const transaction = await payments.waitForFinalStatus(reference, {
   *   startedAt: Date.now(),
   *   expect: { amount: '25.50', currency: 'GHS' },
   * });
   * if (transaction.status === 'success') await fulfil(order);
   * ```
   */
  waitForFinalStatus(reference: string, options: WaitOptions = {}): Promise<Transaction> {
    return new Promise((resolve, reject) => {
      this.#waits.join(this.#wait(reference, options), resolve, reject);
    });
  }

  /**
   * Each change of status as it is seen, the final one last. Ends and fails as {@link waitForFinalStatus} does; `break`
   * ends it too.
   *
   * @throws as {@link waitForFinalStatus}
   *
   * @example
   * ```ts
   * for await (const transaction of payments.watch(reference)) show(transaction.status);
   * ```
   */
  watch(reference: string, options: WaitOptions = {}): AsyncGenerator<Transaction, void, void> {
    return watch(this.#waits, this.#wait(reference, options));
  }

  /**
   * One look at each of many references, as the answers come: for a start-up or a nightly job. Passing faults are
   * waited out; what cannot be learned of one reference is its `error`, and ends nothing else. Memory is bounded.
   *
   * @throws ConfigurationError where an option cannot work; ClosedError; the signal's own reason; what `references` throws.
   *
   * @example
   * ```ts
   * for await (const { reference, transaction, error } of payments.reconcile(openOrders())) {
   *   if (!transaction) console.warn(`${reference} stays open`, error);
   *   else if (transaction.status === 'success') await fulfil(reference);
   * }
   * ```
   */
  reconcile(
    references: Iterable<string> | AsyncIterable<string>,
    options: ReconcileOptions = {},
  ): AsyncGenerator<Reconciled, void, void> {
    const { signal, ...rest } = checkedOptions(options);
    return reconcile(this.#waits, references, signal, (reference) => ({
      ...this.#wait(reference, rest),
      oneLook: true,
    }));
  }

  /**
   * Exactly one verify, without retries, for engines that wait by themselves: ask again after
   * `nextDelay` of `payment-collection-client/schedule`. The result is plain JSON; errors say `retryable`.
   *
   * @throws as {@link verify}
   *
   * @example
   * ```ts
   * const { final, transaction, retryAfter } = await payments.check(reference);
   * const delay = final ? null : nextDelay({ elapsed: Date.now() - chargedAt, retryAfter });
   * ```
   */
  async check(reference: string, options: RequestOptions = {}): Promise<Check> {
    const once = { ...checkedOptions(options), maxRetries: 0 };
    return checkOf(await this.#read({ reference }, once), this.#options.polling.rules);
  }

  /**
   * Tells the client that something may have happened, as when a webhook came in: a wait on this reference asks again
   * now. The hint is never believed, only verify is, so it may come from anyone: it costs at most one extra poll a
   * second where somebody waits, and nothing where nobody does. It never throws.
   */
  notify(reference: string): void {
    this.#waits.notify(reference);
  }

  /** Ends every wait with `ClosedError`. Whatever is called afterwards fails with it too. */
  close(): void {
    this.#waits.close();
    this.#closing.abort(new ClosedError());
  }

  /** {@link close}, at the end of the scope of `using payments = …`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** What a log shows of a client. */
  toJSON(): { mode: 'test' | 'unknown'; baseUrl: string } {
    return { mode: this.mode, baseUrl: this.#options.baseUrl };
  }

  static {
    const inspected = function (this: PaymentsClient) {
      return `PaymentsClient ${JSON.stringify(this)}`;
    };
    Object.defineProperty(this.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: inspected });
  }

  #wait(reference: string, options: WaitOptions) {
    return resolveWait(reference, checkedOptions(options), this.#options.polling.rules);
  }

  async #read(input: VerifyInput, options: RequestOptions): Promise<Answer<Transaction>> {
    if (this.#waits.closed) throw new ClosedError('verify');
    return this.#send(prepare(this.#options, operations.verify, input, options));
  }

  async #create<Input, Request extends Creation, Result extends AnyTransaction>(
    operation: Operation<Input, Request, Result>,
    input: Input,
    options: CreateOptions,
  ): Promise<Result> {
    if (this.#waits.closed) throw new ClosedError(operation.name);
    const { idempotencyKey, ...rest } = checkedOptions(options);
    const call = prepare(this.#options, operation, input, rest);
    if (idempotencyKey === undefined) return (await this.#send(call)).result;
    const { journal, report } = this.#options;
    const surroundings = { journal, report, send: this.#send, closing: this.#closing.signal };
    return atMostOnce(surroundings, idempotencyKey, call);
  }
}
