import { type ChargeMobileMoneyInput, PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createOrderPayments, type OrderPayments } from 'payment-collection-client/orders';
import type { MockPayments } from 'payment-collection-client/testing';
import type { Pool } from 'pg';

interface Order {
  readonly id: string;
  readonly amount: string;
  readonly currency: string;
  readonly reference: string;
  /** Epoch ms. */
  readonly chargedAt: number;
}

/** The parts of Express that the pages use. It types a body as whatever JSON can hold. */
interface IncomingRequest {
  readonly body?: ReturnType<typeof JSON.parse>;
}
interface OutgoingResponse {
  sendStatus(status: number): void;
  status(status: number): OutgoingResponse;
  json(body: object): void;
}
type Handler = (request: IncomingRequest, response: OutgoingResponse, next: () => void) => void;

/**
 * What the pages assume: a block can use these names. A block that declares one of them uses its own.
 *
 * @public `compile.ts` reads it as text
 */
export interface Names {
  order: Order;
  customer: Pick<ChargeMobileMoneyInput, 'customer_email' | 'phone' | 'network'>;
  charge: ChargeMobileMoneyInput;
  reference: string;
  payments: PaymentsClient;
  orderPayments: OrderPayments;
  secrets: { get(name: string): Promise<string> };
  pool: Pool;
  express: {
    json(options?: { type: () => boolean; limit: string }): Handler;
  };
  app: { post(path: string, ...handlers: Handler[]): void };
}

/** What a block did, for the test to read. */
export interface Scene {
  readonly names: Omit<Names, 'pool'>;
  readonly mock: MockPayments;
  /** What the shop responded on its routes, such as `respond 204`. */
  readonly actions: string[];
  /** Is called after each line that the block prints. */
  onPrint(): void;
  /** Posts to a route that the block has opened. */
  post(path: string, body: object | string): void;
}

/** A shop with one order whose payment is pending for a minute, and the service behind it. */
export async function setScene(mock: MockPayments): Promise<Scene> {
  const actions: string[] = [];
  const routes = new Map<string, Handler[]>();
  const readBody: Handler = (_request, _response, next) => next();
  const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
  const price = { amount: '25.50', currency: 'GHS' };
  const payments = new PaymentsClient();
  const { reference } = await payments.initialize({ ...price, customer_email: customer.customer_email });
  const journal = memoryJournal();
  const keyed = { payments: new PaymentsClient({ journal }), journal };
  const orderPayments = createOrderPayments({ ...keyed, onPaid() {}, onAttention() {} });
  const names = {
    order: { id: '17', ...price, reference, chargedAt: Date.now() - 60_000 },
    customer,
    charge: { ...price, ...customer },
    reference,
    payments,
    orderPayments,
    secrets: { get: async () => mock.apiKey },
    express: { json: () => readBody },
    app: { post: (path: string, ...handlers: Handler[]) => void routes.set(path, handlers) },
  };
  return {
    names,
    mock,
    actions,
    onPrint() {},
    post(path, body) {
      const respondWith = (code: number): OutgoingResponse => ({
        sendStatus: (status) => void actions.push(`respond ${status}`),
        status: respondWith,
        json: (sent) => void actions.push(`respond ${code} ${JSON.stringify(sent)}`),
      });
      const response = respondWith(200);
      const [first, ...others] = routes.get(path) ?? [];
      const next = () => others.shift()?.({ body }, response, next);
      first?.({ body }, response, next);
    },
  };
}
