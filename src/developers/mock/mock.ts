import type { HttpHandler } from 'msw';
import * as z from 'zod/mini';
import { type OptionsShape, optionalFlag, optionalValue, parseOptions } from '../../parse-options.ts';
import { Clock } from '../service/clock.ts';
import { PaymentService } from '../service/service.ts';
import { SettlementTimers } from '../service/settlement-timers.ts';
import { detectKeyMode, isHttpAddress } from '../service/validate-request.ts';
import { Webhooks } from '../service/webhooks.ts';
import { createControls, type PaymentControls } from './controls.ts';
import { createHandlers } from './handlers.ts';
import { type Responder, startListening, stopListening } from './intercept-fetch.ts';

/** The options of {@link createMockPayments}. */
export interface MockPaymentsOptions {
  /**
   * The base URL of the client under test.
   *
   * @default 'https://payments.example/api/v1'
   */
  baseUrl?: string | undefined;
  /**
   * The key of the client under test. The mock accepts this one and `testKey`, and rejects any other with 401. A key that
   * does not begin with `sk_test_` belongs to live mode.
   *
   * @default 'mock-live-key'
   */
  apiKey?: string | undefined;
  /**
   * A key of test mode. Each mode has its own transactions.
   *
   * @default 'sk_test_mock'
   */
  testKey?: string | undefined;
  /**
   * Charges Mobile Money with a key `sk_test_…` too. Otherwise the mock rejects such a charge with 403. Charging works in
   * live mode only, but the response in test mode is not documented, so 403 is an assumption.
   *
   * @default false
   */
  allowTestCharges?: boolean | undefined;
}

const optionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    baseUrl: optionalValue<string>(
      isHttpAddress,
      'baseUrl must be an http or https address, such as https://payments.example/api/v1.',
    ),
    apiKey: optionalValue<string>(
      (value) => typeof value === 'string' && value !== '',
      'apiKey must be text, and not empty.',
    ),
    testKey: optionalValue<string>(
      (value) => typeof value === 'string' && detectKeyMode(value) === 'test',
      'testKey must begin with sk_test_.',
    ),
    allowTestCharges: optionalFlag('allowTestCharges'),
  } satisfies OptionsShape<MockPaymentsOptions>))();

/** The payment service in memory. */
export interface MockPayments extends PaymentControls {
  /** For the client under test. */
  readonly baseUrl: string;
  /** For the client under test. */
  readonly apiKey: string;
  /** For a client in test mode. It sees the transactions of test mode only. */
  readonly testKey: string;
  /**
   * Responds to `fetch` in place of the service, until {@link close}: for a project without MSW. A client that was created before is included. A
   * second call changes nothing.
   *
   * Requests to other hosts pass, untouched. A request to the host of `baseUrl` that is not below it gets 404: nothing goes
   * to that host. Nothing is printed, so that no log of a test has the data of a customer.
   *
   * Only the global `fetch` is replaced. A client with a `fetch` or a `transport` of its own does not reach the mock.
   *
   * @throws {Error} if another mock listens at this base URL, or if there is no global `fetch`
   * @example mock.listen();
   */
  listen(): void;
  /**
   * Stops listening, breaks the requests that hang, ends the deliveries of webhooks and removes their receiver.
   * Transactions, charges and requests stay, so that a test can read them. Calling it twice, or without `listen`, is safe,
   * and `listen` can follow it.
   *
   * @example mock.close();
   */
  close(): void;
  /** Calls {@link close}, at the end of the scope of `using`. */
  [Symbol.dispose](): void;
  /**
   * The handlers for a server or a worker of MSW. Put handlers of your own for the same host before them, because they
   * respond to every request to it.
   *
   * MSW itself prints the body of each request that no handler takes, also the phone number in it. Start it with
   * `onUnhandledRequest: 'bypass'` (MSW 2) or `onUnhandledFrame: 'bypass'` (MSW 3).
   *
   * @throws {Error} if MSW is not installed
   * @example
   * ```ts
   * import { setupServer } from 'msw/node';
   *
   * setupServer(...mock.handlers).listen();
   * ```
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
 * It works under any test runner, without MSW, and with MSW 2.10 or later, or 3, through `handlers`.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work
 *
 * @example
 * ```ts
 * const mock = createMockPayments();
 * mock.listen();
 * const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
 *
 * const { reference } = await payments.initialize({ amount: '25.50', customer_email: 'ama@example.com' });
 * mock.approve(reference);
 * (await payments.verify(reference)).status; // 'success'
 * mock.close();
 * ```
 */
export function createMockPayments(options: MockPaymentsOptions = {}): MockPayments {
  const {
    baseUrl: address = 'https://payments.example/api/v1',
    apiKey = 'mock-live-key',
    testKey = 'sk_test_mock',
    allowTestCharges = false,
  } = parseOptions(optionsSchema, options, {
    notAnObject: "createMockPayments takes an object, such as { apiKey: 'mock-live-key' }.",
  });
  const { origin, pathname } = new URL(address);
  const baseUrl = origin + pathname.replace(/\/+$/, '');
  const clock = new Clock();
  const timers = new SettlementTimers(clock);
  const webhooks = new Webhooks({
    sender: 'mock',
    clock,
    // Without a receiver nothing needs a timer: the ledger settles on access.
    onReceiver: (hasReceiver) => (hasReceiver ? timers.start(service.ledger) : timers.stop()),
  });
  const service = new PaymentService({
    baseUrl,
    apiKeys: [apiKey, testKey],
    allowTestCharges,
    checkoutBase: origin,
    ledger: { clock, observers: [timers, webhooks] },
  });
  webhooks.start(service);
  const responder: Responder = { baseUrl, respondTo: (request) => respond(service, request) };
  const close = () => {
    stopListening(responder);
    service.breakConnections();
    webhooks.stop();
  };
  const unread: HttpHandler[] = [];
  const mock = Object.assign(createControls(service, webhooks), {
    baseUrl,
    apiKey,
    testKey,
    listen: () => startListening(responder),
    close,
    [Symbol.dispose]: close,
    handlers: unread,
  });
  // Created when they are read, so that only a test that uses them needs MSW.
  return Object.defineProperty(mock, 'handlers', { get: () => createHandlers(responder) });
}

/** Responds with 500 in place of an error, because MSW prints an error of a handler. */
async function respond(service: PaymentService, request: Request): Promise<Response> {
  try {
    return await service.handle(request);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return Response.json({ status: false, message }, { status: 500 });
  }
}
