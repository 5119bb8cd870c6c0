import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
import { expect, onTestFinished, vi } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { createMockPayments, type Faults, type MockPaymentsOptions } from '../../../src/testing/index.ts';
import { checkEveryExchange } from '../../helpers/openapi/check-every-exchange.ts';
import { catchError, charge, payment } from '../../helpers/service.ts';

export { charge, payment };

/** Intercepts every request until the test ends, so that none leaves the process. */
export function intercept(...handlers: RequestHandler[]): void {
  // A handler for the rest, because MSW 2 and 3 name the option for unhandled requests differently.
  const server = setupServer(
    ...handlers,
    http.all('*', () => HttpResponse.error()),
  );
  server.listen();
  onTestFinished(() => server.close());
}

/** Starts a mock behind MSW, and creates a client of it that does not retry by default. */
export function startMock(options?: MockPaymentsOptions) {
  checkEveryExchange();
  const mock = createMockPayments(options);
  intercept(...mock.handlers);
  const { baseUrl, apiKey } = mock;
  const client = (more: PaymentsClientOptions = {}) =>
    new PaymentsClient({ baseUrl, apiKey, maxRetries: 0, ...more });
  return { mock, client, payments: client() };
}

type StartedMock = ReturnType<typeof startMock>;

/** Fakes the clock until the test ends. */
export function useFakeClock(now: number | string = Date.now()): void {
  vi.useFakeTimers({ now: new Date(now) });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** For a response that does not end. */
export const shortTimeout = { timeout: 300 };

const chooseTimeout = ({ kind }: Faults[keyof Faults]) =>
  kind === 'hang' || kind === 'slowBody' ? shortTimeout : {};

/** Returns the error of a verify with a fault. */
export async function verifyWithFault({ mock, payments }: StartedMock, fault: Faults['verify']) {
  const { reference } = await payments.initialize(payment);
  mock.fault('verify', fault);
  return catchError(payments.verify(reference, chooseTimeout(fault)));
}

/** Returns the error of a charge with a fault, and how many charges it made. */
export async function chargeWithFault({ mock, payments }: StartedMock, fault: Faults['chargeMobileMoney']) {
  const before = mock.charges.length;
  mock.fault('chargeMobileMoney', fault);
  const error = await catchError(payments.chargeMobileMoney(charge, chooseTimeout(fault)));
  return { error, charged: mock.charges.length - before };
}

/** Matches an error whose outcome is unknown because of another error. */
export const unknownBecauseOf = (cause: new (...args: never[]) => Error) => ({
  outcome: 'unknown',
  cause: expect.any(cause),
});
