import type { HttpHandler } from 'msw';
import type { Network } from '../contract/input.ts';
import type { OperationName } from '../contract/operation.ts';
import { type Transaction, transactionSchema } from '../contract/transaction.ts';
import { reported } from './answers.ts';
import { refuseDoubleCharge } from './double-charge.ts';
import type { Faults } from './faults.ts';
import { handlersFor } from './handlers.ts';
import type { Entry, FinalStatus, KnownStatus } from './ledger.ts';
import { PaymentService, type SeenRequest } from './service.ts';

export type * from './faults.ts';
export type { FinalStatus, KnownStatus, SeenRequest };

/** What {@link createMockPayments} is made from. */
export interface MockPaymentsOptions {
  /**
   * The address that the client under test is given.
   *
   * @default 'https://payments.example/api/v1'
   */
  baseUrl?: string | undefined;
  /**
   * The one key that the mock takes; any other is refused with 401.
   *
   * @default 'sk_test_mock'
   */
  apiKey?: string | undefined;
  /**
   * Refuse to charge Mobile Money with a key `sk_test_…`. Charging works in live mode only (SPEC.md, 4.2), but what
   * comes back in test mode is not shown: 403 is an assumption. Off, the mock charges with any key, so that no test
   * needs one that looks live.
   *
   * @default false
   */
  refuseTestCharges?: boolean | undefined;
}

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

/** The payment service, played in memory. Every list is a copy of what is so at that moment. */
export interface MockPayments {
  /** Give it to the client under test. */
  readonly baseUrl: string;
  /** Give it to the client under test. */
  readonly apiKey: string;
  /**
   * For MSW's `setupServer` or `setupWorker`, beside handlers of your own.
   *
   * @example const server = setupServer(...mock.handlers);
   */
  readonly handlers: HttpHandler[];
  /** Every transaction, as verify would report it, in the order of creation. */
  readonly transactions: Transaction[];
  /** Every charge that was accepted, in order: also one whose answer was lost. */
  readonly charges: MockCharge[];
  /** Every request that came in, in order, also a refused one. */
  readonly requests: SeenRequest[];
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
   * What the next verifies find, one status each; the last one stays. `next` is as for `settleAfter`, and whichever of
   * the two was said last holds.
   *
   * @example mock.script('next', ['pending', 'pending', 'success']);
   */
  script(reference: string | 'next', statuses: readonly KnownStatus[]): void;
  /**
   * Breaks the next requests of an operation that keep to SPEC.md; one that does not is refused as ever. Several faults
   * come one after the other. A client's own retries count as requests.
   *
   * @param options `times`: how many requests, or `Infinity` until `reset`. Default 1.
   * @example mock.fault('chargeMobileMoney', { kind: 'answerLost' });
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
  /** Forgets transactions, requests, scripts and faults, and counts references from 1 again: between two tests. */
  reset(): void;
}

/**
 * The payment service for a merchant's tests: stateful, and as strict as SPEC.md. It refuses a missing or wrong bearer
 * key, a body that is not declared as JSON, an amount below 1 or not a number, an unknown network, missing fields, an
 * unknown path or method, by the same schemas that the client checks with, and answers in the shapes of SPEC.md.
 *
 * Assumed, where SPEC.md is silent: the codes and bodies of errors (`{ status: false, message, errors }` with 400, 401,
 * 403, 404, 405, 415 or 422); `paid_at: null` where not paid; `pending` as the status that verify reports until the
 * customer acts, also after a charge; that at most two decimals are taken. References are `TXN-000001` and so on.
 *
 * It works with MSW 2.10 or later, and 3, under any test runner.
 *
 * @example
 * ```ts
 * const mock = createMockPayments();
 * const server = setupServer(...mock.handlers);
 * const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
 *
 * const { reference } = await payments.initialize({ amount: '25.50', customer_email: 'ama@example.com' });
 * mock.approve(reference);
 * (await payments.verify(reference)).status; // 'success'
 * ```
 */
export function createMockPayments(options: MockPaymentsOptions = {}): MockPayments {
  const { apiKey = 'sk_test_mock', refuseTestCharges = false } = options;
  if (apiKey === '') throw new TypeError('apiKey must not be empty.');
  const { origin, pathname } = new URL(options.baseUrl ?? 'https://payments.example/api/v1');
  const baseUrl = origin + pathname.replace(/\/+$/, '');
  const service = new PaymentService({ baseUrl, apiKeys: [apiKey], refuseTestCharges, checkoutBase: origin });
  const { ledger } = service;

  return {
    baseUrl,
    apiKey,
    handlers: handlersFor(baseUrl, (request) => service.handle(request)),
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
      refuseDoubleCharge(ledger.list(), within),
    reset: () => service.reset(),
  };
}

function transactionOf(entry: Entry): Transaction {
  return transactionSchema.parse(reported(entry));
}

function chargeOf({ reference, amount, currency, customer_email, mobileMoney }: Entry): MockCharge[] {
  return mobileMoney ? [{ reference, amount, currency, customer_email, ...mobileMoney }] : [];
}
