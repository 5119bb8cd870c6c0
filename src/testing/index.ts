/**
 * The service in memory, behind MSW, for a merchant's tests; and the cases that a journal has to pass.
 *
 * @module payment-collection-client/testing
 */

import type { HttpHandler } from 'msw';
import { createControls, type PaymentControls } from './controls.ts';
import { handlersFor } from './handlers.ts';
import { PaymentService } from './service.ts';

export type { MockCharge, PaymentControls } from './controls.ts';
export type {
  Fault,
  Faults,
  HangFault,
  LateApprovalFault,
  RateLimitedFault,
  ResetFault,
  ResponseLostFault,
  SlowBodyFault,
  StatusFault,
  TruncatedFault,
  UnrecognisedStatusFault,
  WrongAmountFault,
  WrongCurrencyFault,
  WrongReferenceFault,
} from './faults.ts';
export {
  type JournalCase,
  journalConformance,
  type OpenedJournal,
  type OpenJournal,
} from './journal-conformance/index.ts';
export type { FinalStatus, KnownStatus } from './ledger.ts';
export type { RecordedRequest } from './service.ts';

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

/** The payment service, played in memory. */
export interface MockPayments extends PaymentControls {
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
 * @throws TypeError where `baseUrl` is no address or `apiKey` is empty.
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
  const handlers = handlersFor(baseUrl, (request) => service.handle(request));
  return Object.assign(createControls(service), { baseUrl, apiKey, handlers });
}
