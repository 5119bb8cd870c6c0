/**
 * One order is paid at most once: whatever the customer presses, and whichever process dies.
 *
 * @module payment-collection-client/orders
 */

import type { ChargeMobileMoneyInput, InitializeInput } from '../api/input.ts';
import * as operations from '../api/operations.ts';
import type { HandlerCall } from '../follow-ups/step.ts';
import type { SweepOptions, SweepResult } from '../follow-ups/sweep.ts';
import { createSweeper, type RunOptions, readAccess } from '../follow-ups/sweeper.ts';
import { getRecords } from '../journal/core.ts';
import type { AttentionQuery } from '../journal/journal.ts';
import { findOrderHandler } from './handlers.ts';
import { type OrderPaymentsOptions, validateOrderId, validateOrderPaymentsOptions } from './options.ts';
import { type OrderPressOptions, pressOrder } from './press.ts';
import type { OrderInReview, OrderStatus } from './status.ts';
import {
  listOrdersInReview,
  type OrderReadOptions,
  type OrderWaitOptions,
  readStatus,
  waitForOrder,
} from './wait.ts';

export type { AttentionQuery } from '../journal/journal.ts';
export type { AttentionReason } from '../ledger/order.ts';
export type { OrderAttention, OrderPaymentsOptions, PaidPayment, UnpaidPayment } from './options.ts';
export type { OrderPressOptions } from './press.ts';
export type {
  OrderInReview,
  OrderPayment,
  OrderStatus,
  PaidOrder,
  ProcessingOrder,
  ReviewReason,
  UnpaidOrder,
} from './status.ts';
export type { OrderReadOptions, OrderWaitOptions } from './wait.ts';

/** The payments of a merchant's orders: see {@link createOrderPayments}. An order id is 1 to 200 printable characters. */
export interface OrderPayments {
  /**
   * Charges a customer's Mobile Money number for an order: call it whenever the customer presses "Pay". It sends nothing
   * while a payment is under way, once the order is paid, while a person has to decide, and once it has 50 payments. Errors of the
   * customer and of the service are not thrown: `state` and `error` tell them.
   *
   * @throws {ConfigurationError} if an argument or an option cannot work. Nothing was sent.
   * @throws {AuthenticationError} if the service refuses the API key. It is an assumption that nothing was charged.
   * @throws {JournalError} if the journal failed. This call made no charge.
   *
   * @example
   * ```ts
   * const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
   * const { state } = await orderPayments.charge('17', { amount: '25.50', currency: 'GHS', ...customer });
   * if (state === 'processing') console.log('Approve the payment on your phone.');
   * ```
   */
  charge(order: string, input: ChargeMobileMoneyInput, options?: OrderPressOptions): Promise<OrderStatus>;
  /**
   * Starts a payment by checkout page for an order, as {@link OrderPayments.charge} does: send the customer to
   * `payment.checkout_url`.
   *
   * @throws {ConfigurationError} if an argument or an option cannot work. Nothing was sent.
   * @throws {AuthenticationError} if the service refuses the API key. It is an assumption that no payment was started.
   * @throws {JournalError} if the journal failed. This call started no payment.
   *
   * @example
   * ```ts
   * const status = await orderPayments.checkout('17', { amount: '25.50', customer_email: 'ama@example.com' });
   * if (status.state === 'processing') console.log('redirect to', status.payment.checkout_url);
   * ```
   */
  checkout(order: string, input: InitializeInput, options?: OrderPressOptions): Promise<OrderStatus>;
  /**
   * Returns how far the payment of an order is, from the journal alone: no request is sent.
   *
   * @throws {ConfigurationError} if an argument or an option is not valid, or the order belongs to another service or mode.
   * @throws {JournalError} if the journal failed.
   *
   * @example if ((await orderPayments.read('17')).state === 'paid') console.log('paid');
   */
  read(order: string, options?: OrderReadOptions): Promise<OrderStatus>;
  /**
   * Polls until the order is no longer `processing`, and returns what it is then. At the `timeout` it returns what it is,
   * without an error; if the journal hangs then, it returns what it last read.
   *
   * @throws {ConfigurationError} if an argument or an option cannot work.
   * @throws {AuthenticationError} if the service refuses the API key.
   * @throws {JournalError} if the journal failed, or hung before the timeout.
   * @throws {ClosedError} if the client is closed.
   *
   * @example const { state } = await orderPayments.wait('17', { timeout: 60_000 });
   */
  wait(order: string, options?: OrderWaitOptions): Promise<OrderStatus>;
  /**
   * Yields the orders in review, oldest first and each once, whatever the number of other orders: for a page of your admin. It
   * reads the journal alone. An order leaves by being decided, by any person. Orders of another service or mode are left out.
   *
   * `journal.listAttention` yields more: each payment that needs a person, also of an order that is paid (`paid_twice`) or under
   * way (`overdue`, `unreadable`).
   *
   * @throws {ConfigurationError} if the query is wrong, or if the store has no `list`.
   * @throws {JournalError} if the store fails. If records cannot be read, it yields all others first. Then it throws one error
   * that names them.
   *
   * @example
   * ```ts
   * for await (const { order, reason, payment } of orderPayments.listInReview()) console.log(order, reason, payment.key);
   * ```
   */
  listInReview(query?: AttentionQuery): AsyncGenerator<OrderInReview, void, void>;
  /**
   * Checks every payment of an order that is due, and calls the handlers: from cron, a job or a serverless function.
   *
   * @throws {AuthenticationError} if the service refuses the API key. The payments stay due.
   * @throws {PermissionError} if the service allows no check. They are made again after a pause.
   * @throws {ConfigurationError} if an option cannot work, your `apiKey` function fails, or the store has no `claimDue`.
   * @throws {JournalError} if the journal failed. What was not recorded is done again.
   * @throws {ClosedError} if the client is closed.
   *
   * @example await orderPayments.sweep({ budget: 20_000 });
   */
  sweep(options?: SweepOptions): Promise<SweepResult>;
  /**
   * Sweeps for as long as the process runs, whenever a payment is due. It resolves after `signal` was aborted or the client
   * closed.
   *
   * @throws {ConfigurationError} if an option cannot work, or if the store of the journal has no `claimDue`.
   *
   * @example await orderPayments.run();
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Makes payments due now: a webhook arrived, in whichever process. Give it the body of the request, parsed or raw (text or
   * bytes), of any form, or a reference. It is never believed, so anyone can send one. A body without a reference is written
   * to `logger`, or with `console.error`, once. It never rejects.
   *
   * @example await orderPayments.notify('{ "data": { "reference": "TXN-8F2K1" } }');
   */
  notify(body: unknown): Promise<void>;
}

/**
 * Creates the payments of a merchant's orders. The journal is their only state: your database needs no column and no table
 * for them. The payments of the order 17 are the idempotency keys `17/1`, `17/2` and so on.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg';
 *
 * const journal = postgresJournal(new Pool());
 * const payments = new PaymentsClient({ journal });
 * const orderPayments = createOrderPayments({
 *   payments,
 *   journal,
 *   onPaid: ({ order }) => console.log(`deliver order ${order}`),
 *   onAttention: ({ key, reason }) => console.error(`ALERT: ${key} is ${reason}`),
 * });
 * ```
 */
export function createOrderPayments(options: OrderPaymentsOptions): OrderPayments {
  const { payments, journal, ...handlers } = validateOrderPaymentsOptions(options);
  const access = readAccess(payments, journal);
  const context = { ...handlers, access, records: getRecords(journal) };
  const findHandler = (call: HandlerCall) => findOrderHandler(context, call);
  const sweeper = createSweeper({ kind: 'order', payments, journal, findHandler });
  const track = <T>(name: string, order: string, run: (id: string) => Promise<T>) => {
    const begin = async () => await run(validateOrderId(order));
    // What begins after `close` records nothing, so `close` neither waits for it nor reports it.
    return access.closing.aborted ? begin() : access.calls.track(begin, `${name} of order`, order);
  };
  return {
    charge: (order, input, pressOptions = {}) =>
      track('charge', order, (id) =>
        pressOrder(context, id, operations.chargeMobileMoney, input, pressOptions),
      ),
    checkout: (order, input, pressOptions = {}) =>
      track('checkout', order, (id) => pressOrder(context, id, operations.initialize, input, pressOptions)),
    read: (order, readOptions = {}) => track('read', order, (id) => readStatus(context, id, readOptions)),
    wait: (order, waitOptions = {}) => track('wait', order, (id) => waitForOrder(context, id, waitOptions)),
    listInReview: (query = {}) => listOrdersInReview(context, query),
    sweep: (sweepOptions) => sweeper.sweep(sweepOptions),
    run: (runOptions) => sweeper.run(runOptions),
    notify: (body) => sweeper.notify(body),
  };
}
