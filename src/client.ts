import type { ChargeMobileMoneyInput, InitializeInput, VerifyInput } from './api/input.ts';
import type { CreateOperation } from './api/operations.ts';
import * as operations from './api/operations.ts';
import type { InitializedPayment, MobileMoneyCharge, Transaction } from './api/transaction.ts';
import type { AnyTransaction } from './errors.ts';
import { ClosedError, ConfigurationError } from './errors.ts';
import type { CallResult } from './http/attempt.ts';
import { prepareCall } from './http/call.ts';
import { createSend, type Send } from './http/send.ts';
import { type CreateRequest, givenKey } from './idempotency/fingerprint.ts';
import { sendIdempotent } from './idempotency/send-idempotent.ts';
import type {
  CreateOptions,
  KeyedOptions,
  PaymentsClientOptions,
  ReconcileItem,
  ReconcileOptions,
  RequestOptions,
  ResolvedOptions,
  UnkeyedOptions,
  VerifyOptions,
  WaitOptions,
} from './options.ts';
import { Poller } from './polling/poller.ts';
import { type ReconcileResult, reconcile } from './polling/reconcile.ts';
import { type CheckResult, resolveWait, toCheckResult } from './polling/resolve-wait.ts';
import { watch } from './polling/watch.ts';
import { assertOptions, resolveOptions } from './resolve-options.ts';

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
  readonly #waits: Poller;
  readonly #closing = new AbortController();

  constructor(options: PaymentsClientOptions = {}) {
    this.#options = resolveOptions(options);
    this.#send = createSend(this.#options, this.#closing.signal, (retryAfter, reference) =>
      this.#waits.rateLimited(retryAfter, reference),
    );
    this.#waits = new Poller(
      // Where it throws at once, that is the poll's fault too.
      async (reference, once) =>
        this.#send(prepareCall(this.#options, operations.verify, { reference }, { ...once, maxRetries: 0 })),
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
  initialize(input: InitializeInput, options?: UnkeyedOptions): Promise<InitializedPayment>;
  /**
   * Starts at most one payment for each `idempotencyKey`: see {@link KeyedOptions.idempotencyKey}.
   *
   * @throws also JournalError, IdempotencyConflictError, and OutcomeUnknownError if an earlier call under the key was
   * never resolved.
   */
  initialize(input: InitializeInput, options: KeyedOptions): Promise<InitializedPayment>;
  async initialize(input: InitializeInput, options: CreateOptions = {}): Promise<InitializedPayment> {
    return await this.#create(operations.initialize, input, options);
  }

  /**
   * Charges a customer's Mobile Money number: a PIN prompt appears on the phone (SPEC.md, 4.2). It works in live mode
   * only. The result is `processing`: wait for the final status by its `reference`.
   *
   * @throws InvalidInputError before anything is sent; OutcomeUnknownError where a charge may exist all the same (do not
   * charge again); APIError or ConnectionError where none does; TransactionMismatchError where another sum was charged;
   * ConfigurationError if the client has a `journal`: give an `idempotencyKey`, or `null` for none on purpose.
   */
  chargeMobileMoney(input: ChargeMobileMoneyInput, options?: UnkeyedOptions): Promise<MobileMoneyCharge>;
  /**
   * Charges at most once for each `idempotencyKey`, also over a crash: a PIN prompt appears on the phone. The same key
   * again sends nothing and gives the recorded result, with `replayed: true`. The client needs a `journal`.
   *
   * @throws as without a key; also JournalError if the call could not be recorded and so was not sent,
   * IdempotencyConflictError, and OutcomeUnknownError if an earlier call under the key was never resolved.
   *
   * @example
   * ```ts
   * // A second try after a declined payment is another charge: order-17/2.
   * const charge = await payments.chargeMobileMoney(input, { idempotencyKey: `order-${order.id}/1` });
   * ```
   */
  chargeMobileMoney(input: ChargeMobileMoneyInput, options: KeyedOptions): Promise<MobileMoneyCharge>;
  async chargeMobileMoney(
    input: ChargeMobileMoneyInput,
    options: CreateOptions = {},
  ): Promise<MobileMoneyCharge> {
    return await this.#create(operations.chargeMobileMoney, input, options);
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
    const { expect, ...rest } = ofRead(() => assertOptions(options));
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
      this.#waits.add(this.#wait(reference, options), resolve, reject);
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
   * Checks each of many references once and yields the results as they come: for a start-up or a nightly job. Temporary
   * errors are retried until the `timeout`. What goes wrong with one reference is its `error`, and ends nothing else: a
   * TransactionMismatchError if its `expect` does not hold. Give `expect` before you fulfil an order. Memory is bounded.
   *
   * @throws {ConfigurationError} if an option cannot work.
   * @throws {ClosedError} if the client is closed. It also throws the signal's own reason, and what `references` throws.
   *
   * @example
   * ```ts
   * const items = openOrders().map(({ reference, amount, currency }) => ({ reference, expect: { amount, currency } }));
   * for await (const { reference, transaction, error } of payments.reconcile(items)) {
   *   if (!transaction) console.warn(`${reference} stays open`, error);
   *   else if (transaction.status === 'success') await fulfil(reference);
   * }
   * ```
   */
  reconcile(
    references: Iterable<string | ReconcileItem> | AsyncIterable<string | ReconcileItem>,
    options: ReconcileOptions = {},
  ): AsyncGenerator<ReconcileResult, void, void> {
    return ofRead(() =>
      reconcile(this.#waits, references, assertOptions(options), (reference, rest) =>
        this.#wait(reference, rest),
      ),
    );
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
  async check(reference: string, options: RequestOptions = {}): Promise<CheckResult> {
    const once = { ...ofRead(() => assertOptions(options)), maxRetries: 0 };
    return toCheckResult(await this.#read({ reference }, once), this.#options.polling.rules);
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
    const { polling, showReference } = this.#options;
    return ofRead(() => resolveWait(reference, assertOptions(options), polling.rules, showReference));
  }

  async #read(input: VerifyInput, options: RequestOptions): Promise<CallResult<Transaction>> {
    if (this.#closing.signal.aborted) throw new ClosedError('verify');
    return await this.#send(prepareCall(this.#options, operations.verify, input, options));
  }

  async #create<Input, Request extends CreateRequest, Result extends AnyTransaction>(
    operation: CreateOperation<Input, Request, Result>,
    input: Input,
    options: CreateOptions,
  ): Promise<Result> {
    if (this.#closing.signal.aborted) throw new ClosedError(operation.name);
    const { idempotencyKey: _, ...rest } = assertOptions(options);
    const key = givenKey(options, operation.name, this.#options.journal !== undefined);
    const call = prepareCall(this.#options, operation, input, rest);
    if (key === null) return (await this.#send(call)).result;
    const surroundings = { client: this.#options, send: this.#send, closing: this.#closing.signal };
    return await sendIdempotent(surroundings, key, { ...call, operation });
  }
}

/** A wrong option of a read says nothing about the money, so its error names the read: its outcome is then `null`. */
function ofRead<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || error.operation !== undefined) throw error;
    throw new ConfigurationError(error.message, { operation: 'verify' });
  }
}
