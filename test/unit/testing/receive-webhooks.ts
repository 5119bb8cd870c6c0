import { vi } from 'vitest';
import * as z from 'zod';
import type { MockPayments, WebhookOptions } from '../../../src/testing/index.ts';
import { type charge, payment, startMock } from './start-mock.ts';

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
export interface ReceivedWebhook extends z.output<typeof payloadSchema> {
  readonly headers: Readonly<Record<string, string>>;
}

export async function parseWebhook(request: Request): Promise<ReceivedWebhook> {
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
  return { ...started, received, list, createPayment };
}

/** Runs what needs no timer: deliveries that are due, and handlers that do not wait. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

export const listStates = ({ webhooks }: MockPayments) => webhooks.deliveries.map(({ state }) => state);
