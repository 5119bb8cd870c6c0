import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
import { onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import {
  createMockPayments,
  type MockPayments,
  type MockPaymentsOptions,
  type WebhookOptions,
} from '../../../../src/developers/mock/index.ts';
import { PaymentsClient, type PaymentsClientOptions } from '../../../../src/index.ts';
import { checkEveryExchange } from '../../../helpers/openapi/check-every-exchange.ts';
import { charge, payment } from '../../../helpers/service.ts';

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

/** Connects clients to a mock. They do not retry by default. */
export function connect(mock: MockPayments) {
  const { baseUrl, apiKey } = mock;
  const client = (more: PaymentsClientOptions = {}) =>
    new PaymentsClient({ baseUrl, apiKey, maxRetries: 0, ...more });
  return { mock, client, payments: client() };
}

/** Starts a mock behind MSW, and a client of it. All that it responds is checked against its description. */
export function startMock(options?: MockPaymentsOptions) {
  checkEveryExchange();
  const mock = createMockPayments(options);
  intercept(...mock.handlers);
  return connect(mock);
}

/** The same without MSW. */
export function startListening(options?: MockPaymentsOptions) {
  checkEveryExchange();
  const mock = createMockPayments(options);
  mock.listen();
  onTestFinished(() => mock.close());
  return connect(mock);
}

/** Fakes the clock until the test ends. */
export function useFakeClock(now: number | string = Date.now()): void {
  vi.useFakeTimers({ now: new Date(now) });
  onTestFinished(() => void vi.useRealTimers());
}

const payloadSchema = z.object({
  event: z.string(),
  data: z.object({
    reference: z.string(),
    status: z.string(),
    amount: z.string(),
    currency: z.string(),
    customer_email: z.string(),
    paid_at: z.nullable(z.string()),
  }),
});

/** A webhook as a shop receives it. */
interface ReceivedWebhook extends z.output<typeof payloadSchema> {
  readonly headers: Readonly<Record<string, string>>;
}

async function parseWebhook(request: Request): Promise<ReceivedWebhook> {
  return { ...payloadSchema.parse(await request.json()), headers: Object.fromEntries(request.headers) };
}

/** Starts a mock whose webhooks are received by a handler, and recorded. */
export function startReceiver(
  respond: (webhook: ReceivedWebhook) => unknown = () => {},
  options?: WebhookOptions,
) {
  const started = startMock();
  const { mock, payments } = started;
  const received: ReceivedWebhook[] = [];
  mock.webhooks.deliverTo(async (request) => {
    const webhook = await parseWebhook(request);
    received.push(webhook);
    return respond(webhook);
  }, options);
  const createPayment = async (input: typeof payment | typeof charge = payment) =>
    'phone' in input
      ? (await payments.chargeMobileMoney(input)).reference
      : (await payments.initialize(input)).reference;
  /** What arrived, as `<status> <reference>`. */
  const list = () => received.map(({ data: { status, reference } }) => `${status} ${reference}`);
  const listStates = () => mock.webhooks.deliveries.map(({ state }) => state);
  return { ...started, received, list, listStates, createPayment };
}

/** Runs what needs no timer: deliveries that are due, and handlers that do not wait. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}
