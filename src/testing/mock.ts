import { type HttpHandler, http } from 'msw';
import { refuseUnknownOption } from '../unknown-option.ts';
import { createControls, type PaymentControls } from './controls.ts';
import { PaymentService } from './service.ts';

/** The options of {@link createMockPayments}. */
export interface MockPaymentsOptions {
  /**
   * The base URL of the client under test.
   *
   * @default 'https://payments.example/api/v1'
   */
  baseUrl?: string | undefined;
  /**
   * The one key that the mock accepts. It rejects any other with 401.
   *
   * @default 'sk_test_mock'
   */
  apiKey?: string | undefined;
  /**
   * Rejects a Mobile Money charge with a key `sk_test_…`, with 403. Charging works in live mode only, but the response in
   * test mode is not documented, so 403 is an assumption. When this is off the mock charges with any key, and no test
   * needs a key that looks live.
   *
   * @default false
   */
  refuseTestCharges?: boolean | undefined;
}

const OPTIONS: Readonly<Record<keyof MockPaymentsOptions, true>> = {
  baseUrl: true,
  apiKey: true,
  refuseTestCharges: true,
};

/** The payment service in memory. */
export interface MockPayments extends PaymentControls {
  /** For the client under test. */
  readonly baseUrl: string;
  /** For the client under test. */
  readonly apiKey: string;
  /**
   * For MSW's `setupServer` or `setupWorker`, beside handlers of your own.
   *
   * @example const server = setupServer(...mock.handlers);
   */
  readonly handlers: HttpHandler[];
}

/**
 * Creates the payment service for a merchant's tests. It keeps its transactions, and validates requests with the
 * schemas of the client. It rejects a missing or wrong key, a body that is not JSON, missing or invalid fields, and an
 * unknown path or method. Its responses have the documented shapes.
 *
 * Assumptions about what the service does not document: the codes and bodies of errors (`{ status: false, message,
 * errors }` with 400, 401, 403, 404, 405, 415 or 422), `paid_at: null` for an unpaid transaction, `pending` as the status
 * until the customer acts, also after a charge, and at most two decimals. References are `TXN-000001` and so on.
 *
 * It works with MSW 2.10 or later, and 3, under any test runner.
 *
 * @throws {TypeError} if `baseUrl` is not an address, or if `apiKey` is empty
 * @throws {ConfigurationError} if an option is unknown
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
  const {
    baseUrl: address = 'https://payments.example/api/v1',
    apiKey = 'sk_test_mock',
    refuseTestCharges = false,
    ...others
  } = options;
  refuseUnknownOption(others, OPTIONS);
  if (apiKey === '') throw new TypeError('apiKey must not be empty.');
  const { origin, pathname } = new URL(address);
  const baseUrl = origin + pathname.replace(/\/+$/, '');
  const service = new PaymentService({ baseUrl, apiKeys: [apiKey], refuseTestCharges, checkoutBase: origin });
  const handlers = createHandlers(baseUrl, (request) => service.handle(request));
  return Object.assign(createControls(service), { baseUrl, apiKey, handlers });
}

/** Creates MSW's handlers for every request below a base URL. None of them reaches the real address. */
export function createHandlers(
  baseUrl: string,
  handle: (request: Request) => Promise<Response>,
): HttpHandler[] {
  // A pattern, because MSW would read a port or an IPv6 host in a path as parameters.
  const below = new RegExp(`^${baseUrl.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?:[/?#]|$)`);
  return [
    http.all(below, async ({ request }) => {
      const response: Response | undefined = await handle(request);
      // Without a response, MSW would send the request to the real address.
      return response ?? Response.error();
    }),
  ];
}
