import { findReferences } from './api/find-references.ts';
import type { ChargeMobileMoneyInput, Expectation, InitializeInput, VerifyInput } from './api/input.ts';
import type { CreateOperation } from './api/operations.ts';
import * as operations from './api/operations.ts';
import type { InitializedPayment, MobileMoneyCharge, Transaction } from './api/transaction.ts';
import { resolveApiKey } from './api-key.ts';
import { CLIENT_ACCESS, type ClientAccess, createClientAccess } from './client-access.ts';
import { type AnyTransaction, ClosedError, ConfigurationError, quoteKey } from './errors.ts';
import type { CallResult } from './http/attempt.ts';
import { prepareCall } from './http/call.ts';
import { RequestIds } from './http/request-id.ts';
import { createSend, type Send } from './http/send.ts';
import type { CreateRequest } from './idempotency/claim.ts';
import { validateIdempotencyKey } from './idempotency/fingerprint.ts';
import { resolveAtService } from './idempotency/resolve-at-service.ts';
import { sendKeyed } from './idempotency/send-keyed.ts';
import { getCore, getRecords, reportWarnings } from './journal/core.ts';
import type { Journal, JournalEntry } from './journal/journal.ts';
import type { Resolution } from './journal/resolution.ts';
import {
  type CloseOptions,
  type CreateArguments,
  type CreateOptions,
  createOptionsSchema,
  type NormalizedOptions,
  normalizeOptions,
  normalizeRequestOptions,
  type PaymentsClientOptions,
  type ReconcileItem,
  type ReconcileOptions,
  type RequestOptions,
  type ResolveOptions,
  readIdempotencyKey,
  requestOptionsSchema,
  resolveOptionsSchema,
  type VerifyOptions,
  verifyOptionsSchema,
  type WaitOptions,
} from './options.ts';
import { parseOptions } from './parse-options.ts';
import { type CheckResult, toCheckResult } from './polling/check.ts';
import { normalizeWait } from './polling/normalize-wait.ts';
import { Poller } from './polling/poller.ts';
import { type ReconcileResult, reconcile } from './polling/reconcile.ts';
import { watch } from './polling/watch.ts';
import { CallsInFlight } from './support/calls-in-flight.ts';
import { MAX_TIMEOUT_MS } from './support/max-timeout.ts';
import { SharedAbortController } from './support/timing.ts';

/**
 * Calls the payment service for one merchant. Make one client and keep it: its waits share their polls and limits. A client
 * that is made with a journal is a `PaymentsClient<Journal>`: each of its charges needs an `idempotencyKey`. A
 * `PaymentsClient` is any client.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work. The message tells what to do.
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
export class PaymentsClient<J extends Journal | undefined = Journal | undefined> {
  readonly #options: NormalizedOptions;
  readonly #send: Send;
  readonly #poller: Poller;
  readonly #requestIds = new RequestIds();
  readonly #closing = new SharedAbortController();
  readonly #calls = new CallsInFlight();
  #access: ClientAccess | undefined;
  #closed: Promise<void> | undefined;
  #hasWarned = false;

  constructor(options: PaymentsClientOptions | (PaymentsClientOptions & { journal: J }) = {}) {
    this.#options = normalizeOptions(options);
    this.#send = createSend(this.#options, this.#requestIds, this.#closing.signal, (retryAfter) =>
      this.#poller.onRateLimited(retryAfter),
    );
    this.#poller = new Poller(this.#options, this.#send, this.#closing.signal);
    // By a symbol that is not part of the types: it is for `./follow-ups` and `./orders` alone. A static block would do it
    // once, but would keep the class in every bundle.
    Object.defineProperties(this, {
      [Symbol.for('nodejs.util.inspect.custom')]: { value: () => `PaymentsClient ${JSON.stringify(this)}` },
      [CLIENT_ACCESS]: { get: () => this.#getAccess() },
    });
  }

  /** `test` for a key `sk_test_…`. Any other key is `unknown`, because the shape of a live key is not documented. */
  get mode(): 'test' | 'unknown' {
    return this.#options.mode;
  }

  /**
   * Starts a payment by checkout page. Send the customer to `checkout_url`, and keep `reference`. It is an assumption that a
   * payment cannot be paid without its `checkout_url` (docs/reference/service.md, "Start a checkout payment").
   *
   * With an `idempotencyKey` it starts at most one payment for each key: see {@link KeyedOptions.idempotencyKey}.
   *
   * @throws {InvalidInputError} if the input is not valid. Nothing was sent.
   * @throws {APIError} if the service refused the request.
   * @throws {ConnectionError} if no connection was made. Nothing was sent.
   * @throws {OutcomeUnknownError} if a payment might have been started, or an earlier call under the key is unresolved.
   * @throws {TransactionMismatchError} if the payment has another amount or currency.
   * @throws {ConfigurationError} if an option cannot work, or there is a key and no `journal`. Nothing was sent.
   * @throws {ClosedError} if the client is closed. Nothing was sent.
   * @throws {JournalError} with a key: if the call could not be recorded. Nothing was sent.
   * @throws {IdempotencyConflictError} with a key: if it was used with other input. This call sent nothing.
   */
  async initialize(input: InitializeInput, ...options: CreateArguments): Promise<InitializedPayment> {
    return await this.#create(operations.initialize, input, options);
  }

  /**
   * Charges a customer's Mobile Money number: a PIN prompt appears on the phone. It works in live mode only. The result is
   * `processing`: wait for the final status by its `reference`.
   *
   * With an `idempotencyKey` it charges at most once for each key, even after a crash. The same key again sends nothing and
   * returns the recorded result, with `replayed: true`. A client with a `journal` needs a key for each charge, or `null` for
   * none on purpose.
   *
   * @throws {InvalidInputError} if the input is not valid. Nothing was sent.
   * @throws {APIError} if the service refused the charge. It is an assumption that no charge exists then.
   * @throws {ConnectionError} if no connection was made. Nothing was sent.
   * @throws {OutcomeUnknownError} if a charge might exist, of this call or of an earlier one under the key. Do not charge again.
   * @throws {TransactionMismatchError} if another amount or currency was charged. Do not charge again.
   * @throws {ConfigurationError} if an option cannot work, or the client has a `journal` and the call no key, or the reverse.
   * Nothing was sent.
   * @throws {ClosedError} if the client is closed. Nothing was sent.
   * @throws {JournalError} with a key: if the call could not be recorded. Nothing was sent.
   * @throws {IdempotencyConflictError} with a key: if it was used with other input. This call sent nothing.
   *
   * @example
   * ```ts
   * const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
   * // A charge after a declined payment is another charge: order-17/2.
   * await payments.chargeMobileMoney({ amount: '25.50', ...customer }, { idempotencyKey: 'order-17/1' });
   * ```
   */
  async chargeMobileMoney(
    input: ChargeMobileMoneyInput,
    // A compiler names this parameter if it is left out.
    ...idempotencyKeyAndOptions: CreateArguments<J>
  ): Promise<MobileMoneyCharge> {
    return await this.#create(operations.chargeMobileMoney, input, idempotencyKeyAndOptions);
  }

  /**
   * Returns the transaction as it is now. Only `status: 'success'` means paid. Give the amount of the order as `expect`.
   * An error says nothing about the payment.
   *
   * @throws {TransactionMismatchError} if the transaction is another one, or not as `expect` says. Do not fulfil the order.
   * @throws {APIError} if the service refused the request, or failed.
   * @throws {ConnectionError} if the connection failed.
   * @throws {RequestTimeoutError} if no whole response came within `timeout`.
   * @throws {UnexpectedResponseError} if the response cannot be read.
   * @throws {InvalidInputError} if `reference` or `expect` is not valid.
   * @throws {ConfigurationError} if an option cannot work, or your `apiKey` function fails.
   * @throws {ClosedError} if the client is closed.
   *
   * @example
   * ```ts
   * const { status } = await payments.verify('TXN-8F2K1', { expect: { amount: '25.50', currency: 'GHS' } });
   * console.log(status === 'success' ? 'paid' : 'not paid so far');
   * ```
   */
  async verify(reference: string, options?: VerifyOptions): Promise<Transaction> {
    const request: VerifyOptions =
      options === undefined ? {} : parseOptions(verifyOptionsSchema, options, { operation: 'verify' });
    return (await this.#read({ reference, expect: request.expect }, request)).result;
  }

  /**
   * Polls until the status is final, and returns the transaction. `failed` and `abandoned` are results, not errors. A
   * temporary error does not end the wait: connection, timeout, 408, 425, 429, 5xx, a response that cannot be read. Waits
   * on one reference share their polls. An abort rejects with the signal's own reason.
   *
   * @throws {WaitTimeoutError} if the deadline passed. It does not mean that the payment failed: do not cancel the order.
   * @throws {TransactionMismatchError} if the final transaction is not as `expect` says. Do not fulfil the order.
   * @throws {APIError} if the service refused a check for good: with a 404, once it has done so for 10 seconds.
   * @throws {InvalidInputError} if `reference` or `expect` is not valid.
   * @throws {ConfigurationError} if an option cannot work.
   * @throws {ClosedError} if the client is closed.
   *
   * @example
   * ```ts
   * const expect = { amount: '25.50', currency: 'GHS' };
   * const { status } = await payments.waitForFinalStatus('TXN-8F2K1', { expect, timeout: 60_000 });
   * console.log(status === 'success' ? 'paid' : 'not paid');
   * ```
   */
  waitForFinalStatus(reference: string, options: WaitOptions = {}): Promise<Transaction> {
    return new Promise((resolve) => {
      this.#poller.selectFor().add(normalizeWait(reference, options, this.#options.polling.rules), resolve);
    });
  }

  /**
   * Yields the transaction at each change of its status, the final one last. It ends and throws as
   * {@link waitForFinalStatus} does. `break` ends it too.
   *
   * @example
   * ```ts
   * for await (const { status } of payments.watch('TXN-8F2K1')) console.log(status);
   * ```
   */
  watch(reference: string, options: WaitOptions = {}): AsyncGenerator<Transaction, void, void> {
    return watch(this.#poller.selectFor(), normalizeWait(reference, options, this.#options.polling.rules));
  }

  /**
   * Checks each of many references once and yields the results as they come: for a start-up or a nightly job. Temporary
   * errors are retried until the `timeout`. The error of one reference is its `error`, and ends nothing else: a
   * `TransactionMismatchError` if the transaction is not as `expect` says. Give `expect` before you fulfil an order. Memory
   * is bounded. It also throws the signal's own reason, and what `references` throws.
   *
   * @throws {ConfigurationError} if an option is unknown or cannot work.
   * @throws {ClosedError} if the client is closed.
   *
   * @example
   * ```ts
   * const items = [{ reference: 'TXN-8F2K1', expect: { amount: '25.50', currency: 'GHS' } }];
   * for await (const { reference, transaction, error } of payments.reconcile(items))
   *   console.log(reference, transaction?.status ?? 'stays open', error);
   * ```
   */
  reconcile(
    references: Iterable<string | ReconcileItem> | AsyncIterable<string | ReconcileItem>,
    options: ReconcileOptions = {},
  ): AsyncGenerator<ReconcileResult, void, void> {
    const { rules } = this.#options.polling;
    return reconcile(this.#poller.selectFor(), references, options, rules, this.#closing.signal);
  }

  /**
   * Checks the status with exactly one request, for a job queue or a durable engine: check again after `nextDelay` of
   * `payment-collection-client/schedule`. The result is plain JSON. It throws as {@link verify} does. An error is
   * `retryable` if a later check can succeed.
   *
   * @example
   * ```ts
   * const { final, retryAfter } = await payments.check('TXN-8F2K1');
   * const delay = final ? null : nextDelay({ elapsed: 20_000, retryAfter }); // 20 s after the charge
   * ```
   */
  async check(reference: string, options?: RequestOptions): Promise<CheckResult> {
    const request =
      options === undefined ? {} : parseOptions(requestOptionsSchema, options, { operation: 'verify' });
    const result = await this.#read({ reference }, { ...request, maxRetries: 0 });
    return toCheckResult(result, this.#options.polling.rules);
  }

  /**
   * Makes a wait on this reference poll now, because a payment might have changed. It also takes a webhook's body, parsed
   * or raw (text or bytes), of any form: the first ten references in it count, at any depth. The notification itself
   * proves nothing, so anyone can send one. It causes at most one extra poll per second and reference, and none for a
   * reference without a wait. A body without a reference is written to `logger`, or with `console.error`, once. It never
   * throws.
   */
  notify(referenceOrBody: unknown): void {
    const references = findReferences(referenceOrBody);
    for (const reference of references) this.#poller.notify(reference);
    if (references.length > 0 || this.#hasWarned) return;
    this.#hasWarned = true;
    const message = `notify got ${typeof referenceOrBody} without a reference. Give it the body of the webhook. This is said once.`;
    this.#options.report({ type: 'warning', code: 'no_reference', message });
  }

  /**
   * Resolves a payment that needs a person, once that person has found out what happened. It asks the service first.
   *
   * - `{ reference }`: of an unresolved payment its charge, or, with the id of an order, a transaction that belongs to that order.
   *   The service must have it, and no other order or key. One of another amount needs a person again (`mismatch`).
   * - `not_charged`: of an unresolved payment. It can be charged again, also with other input. It is refused if the service has the
   *   transaction that was named for this payment.
   * - `accepted`: of a `mismatch` that is a `success`, or of `price_changed`. The payment counts as it is.
   * - `closed`: of whatever needs a person. The payment is never charged again, and not followed.
   *
   * What a person decided can be decided again, but for the payment that pays its order. Each resolution is kept in the record,
   * with `by` and `reason`. If the journal fails, read the entry: the resolution might have been recorded.
   *
   * @returns the entry of the payment as it is then.
   * @throws {JournalError} if there is no such payment, if it is in progress (`retryable`) or was changed meanwhile, if the
   * resolution does not fit it, or if the reference does not exist or belongs to another payment.
   * @throws {ConfigurationError} if the client has no journal, if the record belongs to another service or mode, or if an argument
   * is not valid.
   * @throws {ClosedError} if the client is closed.
   * @throws what {@link PaymentsClient.verify} throws, if the service has to be asked. Nothing was recorded then.
   *
   * @example
   * ```ts
   * const by = 'ama@shop.example';
   * await payments.resolve('order-17/1', { reference: 'TXN-8F2K1' }, { by, reason: 'found by its request id' });
   * await payments.resolve('order-18/1', 'not_charged', { by, reason: 'the service has no such charge: ticket 4711' });
   * ```
   */
  async resolve(
    idempotencyKey: string,
    resolution: Resolution,
    options: ResolveOptions,
  ): Promise<JournalEntry> {
    if (this.#closing.signal.aborted) throw new ClosedError('verify');
    const { journal } = this.#options;
    if (!journal)
      throw new ConfigurationError('resolve needs a journal: give the client one.', { operation: 'verify' });
    const notAnObject = 'A resolution needs { by, reason }: who decides, and what was found out.';
    const request = parseOptions(resolveOptionsSchema, options, { operation: 'verify', notAnObject });
    const access = this.#getAccess();
    const { by, reason, revision } = options;
    const { signal, timeout } = normalizeRequestOptions(request, this.#options);
    validateIdempotencyKey(idempotencyKey, 'verify');
    const call = { idempotencyKey, resolution, note: { by, reason, revision }, signal, timeout };
    const verify = async (reference: string, expect: Expectation) =>
      (await this.#read({ reference, expect }, request)).result;
    return await this.#calls.track(
      () => resolveAtService(access, getCore(journal), call, verify),
      'resolve',
      idempotencyKey,
    );
  }

  /**
   * Ends every wait with `ClosedError` at once. Every later call fails with it too, and sends nothing. A charge that is in
   * flight goes on.
   *
   * Await it before you end the database: it resolves once each call in flight has recorded its outcome, also those of
   * `./orders` and `./follow-ups`, or after the `timeout`. It never rejects, and a second close is the same one. Do not
   * await it in a handler, because it waits for that handler.
   *
   * @example
   * ```ts
   * await payments.close(); // then end the database
   * ```
   */
  close(options?: CloseOptions): Promise<void> {
    this.#closing.abort(new ClosedError());
    this.#closed ??= this.#waitForCalls(options?.timeout);
    return this.#closed;
  }

  async #waitForCalls(given: unknown): Promise<void> {
    // What is wrong here must not keep the caller from ending the rest.
    const timeout = typeof given === 'number' && given >= 0 ? Math.min(given, MAX_TIMEOUT_MS) : CLOSE_TIMEOUT;
    const left = await this.#calls.waitForAll(timeout);
    if (left.length === 0) return;
    const named = left
      .slice(0, MAX_NAMED_CALLS)
      .map(({ name, id }) =>
        id === undefined ? name : `${name} ${quoteKey(this.#options.redactReference(id))}`,
      );
    const names = [...named, ...(left.length > MAX_NAMED_CALLS ? ['…'] : [])].join(', ');
    const message = `close: not ended after ${timeout} ms, and perhaps not recorded: ${names}`;
    this.#options.report({ type: 'warning', code: 'calls_left', message });
  }

  /** Closes the client at the end of the scope of `using payments = …`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Closes the client at the end of the scope of `await using payments = …`, and waits for the calls in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What `JSON.stringify` shows of a client: never its key. */
  toJSON(): { mode: 'test' | 'unknown'; baseUrl: string } {
    return { mode: this.mode, baseUrl: this.#options.baseUrl };
  }

  #getAccess(): ClientAccess {
    const { closing, calls } = { closing: this.#closing.signal, calls: this.#calls };
    const { apiKey: _, ...client } = this.#options;
    const parts = {
      client,
      send: this.#send,
      resolveApiKey: async (...call: Parameters<ClientAccess['resolveApiKey']>) =>
        resolveApiKey(this.#options, ...call),
      requestIds: this.#requestIds,
      closing,
      calls,
    };
    this.#access ??= createClientAccess(parts, this.#poller);
    return this.#access;
  }

  async #create<Input, Request extends CreateRequest, Result extends AnyTransaction>(
    operation: CreateOperation<Input, Request, Result>,
    input: Input,
    [options = {}]: readonly [options?: CreateOptions | undefined],
  ): Promise<Result> {
    if (this.#closing.signal.aborted) throw new ClosedError(operation.name);
    const { idempotencyKey: _, ...rest } = parseOptions(createOptionsSchema, options, {
      operation: operation.name,
    });
    const { journal, report } = this.#options;
    const idempotencyKey = readIdempotencyKey(options, operation.name, journal !== undefined);
    const call = prepareCall(this.#options, operation, input, rest);
    if (idempotencyKey === null)
      return (await this.#calls.track(() => this.#send(call), operation.name)).result;
    if (!journal) throw new ConfigurationError(JOURNAL_NEEDED, { operation: operation.name });
    const records = getRecords(journal);
    const keyed = { name: { kind: 'key', id: idempotencyKey }, operation, call } as const;
    reportWarnings(journal, report);
    return await this.#calls.track(
      () => sendKeyed(this.#getAccess(), records, keyed),
      operation.name,
      idempotencyKey,
    );
  }

  #read(input: VerifyInput, options: RequestOptions): Promise<CallResult<Transaction>> {
    if (this.#closing.signal.aborted) throw new ClosedError('verify');
    const call = prepareCall(this.#options, operations.verify, input, options);
    return this.#calls.track(() => this.#send(call), 'verify', input.reference);
  }
}

/** How long `close` waits for the calls in flight, in milliseconds. */
const CLOSE_TIMEOUT = 30_000;

const MAX_NAMED_CALLS = 10;

const JOURNAL_NEEDED =
  'idempotencyKey needs a journal: without one, at most one charge for each key could not be promised over a restart.';
