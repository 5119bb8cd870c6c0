import * as z from 'zod/mini';
import type { Network } from '../../api/input.ts';
import type { OperationName } from '../../api/operations.ts';
import { type Transaction, transactionSchema } from '../../api/transaction.ts';
import { getCore } from '../../journal/core.ts';
import type { Journal } from '../../journal/journal.ts';
import { type OptionsShape, parseOptions, unchecked } from '../../parse-options.ts';
import type { Faults } from '../service/faults.ts';
import {
  type ChargeEntry,
  type Entry,
  type FinalStatus,
  isCharge,
  type KnownStatus,
} from '../service/ledger.ts';
import { toTransactionData } from '../service/responses.ts';
import type { PaymentService, RecordedRequest } from '../service/service.ts';
import type { WebhookControls, Webhooks } from '../service/webhooks.ts';
import { assertNoDoubleCharge, readOrders } from './double-charge.ts';

/** A Mobile Money charge that the service accepted. */
export interface MockCharge {
  readonly reference: string;
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  readonly customer_email: string;
  readonly phone: string;
  readonly network: Network;
}

/**
 * Controls the service from a test, and shows what it recorded. Every list is a copy. An unknown reference, and a fault,
 * status or number that is not valid, throws at once.
 *
 * The mock keeps everything. The sandbox keeps its latest transactions (`keep`) and its latest 1000 requests or more.
 */
export interface PaymentControls {
  /** The transactions that are kept, as verify would report them, in the order of creation. */
  readonly transactions: Transaction[];
  /** The charges that were accepted and are kept, in order. A charge whose response was lost is among them. */
  readonly charges: MockCharge[];
  /** The requests that arrived and are kept, in order. Rejected requests are among them. */
  readonly requests: RecordedRequest[];
  /** Makes the customer pay: `success`, with `paid_at`. It works from any status, and cancels what was planned. */
  approve(reference: string): Transaction;
  /** Makes the customer decline, or the payment fail: `failed`. */
  decline(reference: string): Transaction;
  /** Makes the customer leave: `abandoned`. */
  abandon(reference: string): Transaction;
  /**
   * Gives a transaction a final status once `delay` milliseconds have passed on the test's clock. `Date.now()` is read at
   * each access, so a fake clock works. With `'next'` the plan is for the next transaction, counted from its creation.
   * Two calls with `'next'` are for the next two transactions.
   *
   * @example mock.settleAfter('next', 20_000, 'success');
   */
  settleAfter(reference: string | 'next', delay: number, status: FinalStatus): void;
  /**
   * Sets the statuses that the next verifies find, one for each. The last one stays. For one reference, the last call of
   * this or `settleAfter` counts. With `'next'`, each call of either is for one more transaction.
   *
   * @example mock.script('next', ['pending', 'pending', 'success']);
   */
  script(reference: string | 'next', statuses: readonly KnownStatus[]): void;
  /**
   * Breaks the next valid requests of an operation. An invalid request is rejected as usual, and uses up no fault.
   * Several faults follow one after the other. The client's own retries count as requests.
   *
   * @param options `times`: how many requests, or `Infinity` until `clearFaults` or `reset`. Default 1.
   * @example mock.fault('chargeMobileMoney', { kind: 'responseLost' });
   * @example mock.fault('verify', { kind: 'status', status: 502, body: 'html' }, { times: 3 });
   */
  fault<Name extends OperationName>(operation: Name, fault: Faults[Name], options?: { times?: number }): void;
  /** Deletes the faults that are not used up, also those of webhooks. Transactions and requests stay. */
  clearFaults(): void;
  /**
   * Throws if one customer was charged the same amount on the same phone twice, unless the first charge had failed
   * before the second was made. Of the phone it compares the last nine digits. It ignores the case of the email.
   *
   * Without the journal it cannot tell a double click from a customer who buys the same twice, so it throws for both.
   *
   * @param options `within`: only count charges at most this many milliseconds apart. Default `Infinity`. `purchases`: how many
   * times a customer buys the same in this test. Default 1.
   * @throws {Error} if there is a double charge: it names both references.
   * @throws {ConfigurationError} if an option is unknown.
   * @throws {RangeError} if `within` is no number or negative, or if `purchases` is no whole number from 1.
   * @example mock.expectNoDoubleCharge();
   */
  expectNoDoubleCharge(options?: { within?: number; purchases?: number }): void;
  /**
   * Rejects if an order was charged twice, on any phone and with any amount, unless the first charge had failed before the second
   * was made. Charges of different orders, or under different idempotency keys, are purchases of their own. Keys that differ only
   * in the number after the last slash, such as `order-17/1` and `order-17/2`, are of one order. A charge that the journal does
   * not have is compared with every other, as without a journal.
   *
   * It is asynchronous because it reads the journal: await it.
   *
   * @param options `journal`: that of the client under test. `within` and `purchases`: as without a journal.
   * @throws {Error} if there is a double charge: it names both references.
   * @throws {ConfigurationError} if an option is unknown, or `journal` is none, or its store has no `list`.
   * @throws {JournalError} if the journal cannot be read.
   * @throws {RangeError} if `within` is no number or negative, or if `purchases` is no whole number from 1.
   *
   * @example await mock.expectNoDoubleCharge({ journal });
   */
  expectNoDoubleCharge(options: { within?: number; purchases?: number; journal: Journal }): Promise<void>;
  /** The webhooks: who receives them, their faults, and what was sent. */
  readonly webhooks: WebhookControls;
  /**
   * Deletes transactions, requests, scripts and faults, between two tests. References go on, so that a journal that
   * outlives the test never meets one twice.
   */
  reset(): void;
}

interface DoubleChargeOptions {
  within?: number;
  purchases?: number;
  journal?: Journal;
}

const doubleChargeOptions = /* @__PURE__ */ (() =>
  z.strictObject({
    within: unchecked<number>(),
    purchases: unchecked<number>(),
    journal: unchecked<Journal>(),
  } satisfies OptionsShape<DoubleChargeOptions>))();

function parseDoubleChargeOptions(options: unknown) {
  const {
    within = Number.POSITIVE_INFINITY,
    purchases = 1,
    journal,
  } = parseOptions(doubleChargeOptions, options, {
    notAnObject: 'expectNoDoubleCharge takes an object, such as { journal }.',
  });
  if (!(typeof within === 'number' && within >= 0))
    throw new RangeError(`within must be milliseconds, 0 or more, not ${within}.`);
  if (!(Number.isInteger(purchases) && purchases >= 1))
    throw new RangeError(`purchases must be a whole number, 1 or more, not ${purchases}.`);
  if (journal !== undefined) getCore(journal);
  return { rules: { within, purchases }, journal };
}

export function createControls(service: PaymentService, webhooks: Webhooks): PaymentControls {
  const { ledger } = service;
  const toTransaction = (entry: Entry): Transaction =>
    transactionSchema.parse(toTransactionData(entry, ledger.getReportedStatus(entry)));
  function expectNoDoubleCharge(options?: Omit<DoubleChargeOptions, 'journal'>): void;
  function expectNoDoubleCharge(options: DoubleChargeOptions & { journal: Journal }): Promise<void>;
  function expectNoDoubleCharge(options: DoubleChargeOptions = {}): Promise<void> | void {
    const { rules, journal } = parseDoubleChargeOptions(options);
    // Read at once: a test that does not wait for the journal can reset the mock meanwhile.
    const entries = ledger.list();
    if (journal === undefined) return assertNoDoubleCharge(entries, rules);
    return readOrders(journal, service.exchanges).then((orders) =>
      assertNoDoubleCharge(entries, { ...rules, orders }),
    );
  }
  return {
    get transactions() {
      return ledger.list().map(toTransaction);
    },
    get charges() {
      return ledger.list().filter(isCharge).map(toMockCharge);
    },
    get requests() {
      return service.exchanges.map(({ request }) => request);
    },
    approve: (reference) => toTransaction(ledger.end(reference, 'success')),
    decline: (reference) => toTransaction(ledger.end(reference, 'failed')),
    abandon: (reference) => toTransaction(ledger.end(reference, 'abandoned')),
    settleAfter: (reference, delay, status) => ledger.settleAfter(reference, delay, status),
    script: (reference, statuses) => ledger.script(reference, statuses),
    fault: (operation, fault, { times = 1 } = {}) => service.orderFault(operation, fault, times),
    clearFaults: () => {
      service.faults.clear();
      webhooks.clearFaults();
    },
    expectNoDoubleCharge,
    webhooks,
    reset: () => {
      service.reset();
      webhooks.reset();
    },
  };
}

function toMockCharge({ reference, amount, currency, customer_email, mobileMoney }: ChargeEntry): MockCharge {
  return { reference, amount, currency, customer_email, ...mobileMoney };
}
