import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
import { onTestFinished } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { createMockPayments, type MockPaymentsOptions } from '../../../src/testing/index.ts';

export const payment = { amount: '25.50', customer_email: 'ama.serwaa@example.com' } as const;
export const charge = { ...payment, phone: '024 412 3456', network: 'mtn' } as const;

/** Lets MSW answer until the test ends, and nothing leave the process. MSW 2 and 3 name the option for that differently. */
export function intercept(...handlers: RequestHandler[]): void {
  const server = setupServer(
    ...handlers,
    http.all('*', () => HttpResponse.error()),
  );
  server.listen();
  onTestFinished(() => server.close());
}

/** A mock that MSW answers with, and a client of it that retries nothing unless told. */
export function startMock(options?: MockPaymentsOptions) {
  const mock = createMockPayments(options);
  intercept(...mock.handlers);
  const { baseUrl, apiKey } = mock;
  const client = (more: PaymentsClientOptions = {}) =>
    new PaymentsClient({ baseUrl, apiKey, maxRetries: 0, ...more });
  return { mock, client, payments: client() };
}
