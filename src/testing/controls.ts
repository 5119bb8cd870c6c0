import type { Network } from '../api/input.ts';
import type { OperationName } from '../api/operations.ts';
import { type Transaction, transactionSchema } from '../api/transaction.ts';
import { assertNoDoubleCharge } from './double-charge.ts';
import type { Faults } from './faults.ts';
import type { Entry, FinalStatus, KnownStatus } from './ledger.ts';
import { toTransaction } from './responses.ts';
import type { PaymentService, RecordedRequest } from './service.ts';

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
 * What a test does to the service and learns of it. Every list is a copy of what is so at that moment. A reference that
 * there is not, and a fault, status or number that cannot be, throw at once.
 *
 * The mock keeps everything; the sandbox its latest transactions (`keep`) and requests (1000 at least).
 */
export interface PaymentControls {
  /** The transactions that are kept, as verify would report them, in the order of creation. */
  readonly transactions: Transaction[];
  /** The charges that were accepted and are kept, in order: also one whose answer was lost. */
  readonly charges: MockCharge[];
  /** The requests that came in and are kept, in order, also refused ones. */
  readonly requests: RecordedRequest[];
  /** The customer pays: `success`, with `paid_at`. Any status can be left again; what was planned is off. */
  approve(reference: string): Transaction;
  /** The customer declines, or the payment fails: `failed`. */
  decline(reference: string): Transaction;
  /** The customer goes away: `abandoned`. */
  abandon(reference: string): Transaction;
  /**
   * Moves a transaction by itself once `delay` milliseconds have passed, by the clock of the test: `Date.now()` is read
   * when someone looks, so a fake clock that was moved on is enough. With `next`, it is for the next transaction that
   * is created, from its creation on; said twice, for the next two.
   *
   * @example mock.settleAfter('next', 20_000, 'success');
   */
  settleAfter(reference: string | 'next', delay: number, status: FinalStatus): void;
  /**
   * What the next verifies find, one status each; the last one stays. For one reference, whichever of this and
   * `settleAfter` was said last holds. With `next`, each of the two, however often said, is for one more transaction.
   *
   * @example mock.script('next', ['pending', 'pending', 'success']);
   */
  script(reference: string | 'next', statuses: readonly KnownStatus[]): void;
  /**
   * Breaks the next requests of an operation that keep to SPEC.md; one that does not is refused as ever. Several faults
   * come one after the other. A client's own retries count as requests.
   *
   * @param options `times`: how many requests, or `Infinity` until `reset`. Default 1.
   * @example mock.fault('chargeMobileMoney', { kind: 'responseLost' });
   * @example mock.fault('verify', { kind: 'status', status: 502, body: 'html' }, { times: 3 });
   */
  fault<Name extends OperationName>(operation: Name, fault: Faults[Name], options?: { times?: number }): void;
  /**
   * Throws where one customer was charged the same amount on the same phone twice, unless the first charge had failed
   * before the second was made. It compares the last nine digits of the phone, and not the case of the email.
   *
   * @param options `within`: count charges at most so many milliseconds apart. Default: any two.
   */
  expectNoDoubleCharge(options?: { within?: number }): void;
  /** Forgets transactions, requests, scripts and faults: between two tests. The mock counts references from 1 again. */
  reset(): void;
}

export function createControls(service: PaymentService): PaymentControls {
  const { ledger } = service;
  return {
    get transactions() {
      return ledger.list().map(transactionOf);
    },
    get charges() {
      return ledger.list().flatMap(chargeOf);
    },
    get requests() {
      return [...service.requests];
    },
    approve: (reference) => transactionOf(ledger.settle(reference, 'success')),
    decline: (reference) => transactionOf(ledger.settle(reference, 'failed')),
    abandon: (reference) => transactionOf(ledger.settle(reference, 'abandoned')),
    settleAfter: (reference, delay, status) => ledger.settleAfter(reference, delay, status),
    script: (reference, statuses) => ledger.script(reference, statuses),
    fault: (operation, fault, { times = 1 } = {}) => service.faults.add(operation, fault, times),
    expectNoDoubleCharge: ({ within = Number.POSITIVE_INFINITY } = {}) =>
      assertNoDoubleCharge(ledger.list(), within),
    reset: () => service.reset(),
  };
}

function transactionOf(entry: Entry): Transaction {
  return transactionSchema.parse(toTransaction(entry));
}

function chargeOf({ reference, amount, currency, customer_email, mobileMoney }: Entry): MockCharge[] {
  return mobileMoney ? [{ reference, amount, currency, customer_email, ...mobileMoney }] : [];
}
