import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
import { expect, onTestFinished, vi } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import {
  createMockPayments,
  type Faults,
  type MockPayments,
  type MockPaymentsOptions,
} from '../../../src/testing/index.ts';
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

const TIMEOUT = 100;

/**
 * Returns the error of a call that meets a fault. The clock is fake, so that the timeout passes only once the request has
 * arrived, however slow the machine is.
 */
async function catchFault(mock: MockPayments, call: (options: { timeout: number }) => Promise<unknown>) {
  if (!vi.isFakeTimers()) useFakeClock();
  const before = mock.requests.length;
  const error = catchError(call({ timeout: TIMEOUT }));
  while (mock.requests.length === before) await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(TIMEOUT);
  return error;
}

/** Returns the error of a verify with a fault. */
export async function verifyWithFault({ mock, payments }: StartedMock, fault: Faults['verify']) {
  const { reference } = await payments.initialize(payment);
  mock.fault('verify', fault);
  return catchFault(mock, (options) => payments.verify(reference, options));
}

/** Returns the error of a charge with a fault, and how many charges it made. */
export async function chargeWithFault(
  { mock, payments }: Pick<StartedMock, 'mock' | 'payments'>,
  fault: Faults['chargeMobileMoney'],
) {
  const before = mock.charges.length;
  mock.fault('chargeMobileMoney', fault);
  const error = await catchFault(mock, (options) => payments.chargeMobileMoney(charge, options));
  return { error, charged: mock.charges.length - before };
}

/** Matches an error whose outcome is unknown because of another error. */
export const unknownBecauseOf = (cause: new (...args: never[]) => Error) => ({
  outcome: 'unknown',
  cause: expect.any(cause),
});
