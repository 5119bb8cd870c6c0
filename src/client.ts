import type { MobileMoneyCharge } from './contract/answer.ts';
import type { ChargeMobileMoneyInput, InitializeInput } from './contract/input.ts';
import type { InitializedPayment, Transaction } from './contract/transaction.ts';
import * as operations from './operations.ts';
import type { CreateOptions, PaymentsClientOptions, ResolvedOptions, VerifyOptions } from './options.ts';
import { resolveOptions } from './resolve-options.ts';
import { createSend, type Send } from './transport/transport.ts';

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

  constructor(options: PaymentsClientOptions = {}) {
    this.#options = resolveOptions(options);
    this.#send = createSend(this.#options);
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
    return this.#send(operations.initialize, input, options);
  }

  /**
   * Charges a customer's Mobile Money number: a PIN prompt appears on the phone (SPEC.md, 4.2). It works in live mode
   * only. The result is `processing`: wait for the final status by its `reference`.
   *
   * @throws InvalidInputError before anything is sent; OutcomeUnknownError where a charge may exist all the same (do not
   * charge again); APIError or ConnectionError where none does; TransactionMismatchError where another sum was charged.
   */
  async chargeMobileMoney(
    input: ChargeMobileMoneyInput,
    options: CreateOptions = {},
  ): Promise<MobileMoneyCharge> {
    return this.#send(operations.chargeMobileMoney, input, options);
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
  async verify(reference: string, { expect, ...options }: VerifyOptions = {}): Promise<Transaction> {
    return this.#send(operations.verify, { reference, expect }, options);
  }
}
