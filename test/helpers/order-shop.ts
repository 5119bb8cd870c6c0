import { createControls, type PaymentControls } from '../../src/developers/mock/controls.ts';
import { PaymentService } from '../../src/developers/service/service.ts';
import { Webhooks } from '../../src/developers/service/webhooks.ts';
import { PaymentsClient, type PaymentsClientOptions, type PaymentsEvent } from '../../src/index.ts';
import {
  createOrderPayments,
  type OrderAttention,
  type OrderPayments,
  type OrderPaymentsOptions,
  type PaidPayment,
  type UnpaidPayment,
} from '../../src/orders/index.ts';
import { type Journal, type JournalStore, memoryJournal, memoryStore } from '../../src/stores/index.ts';
import { createResetError } from './scripted-service.ts';
import { API_KEY, charge } from './service.ts';

const BASE_URL = 'https://payments.example/api/v1';

/** A process of the shop: a client, a journal and order payments of its own, over the shop's records. */
interface OrderProcess extends OrderPayments {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
}

/** A shop whose orders are paid, and the service that it uses. */
export interface OrderShop {
  readonly store: JournalStore;
  readonly service: PaymentControls;
  /** The requests that arrived, such as `POST charge-mobile-money`. */
  readonly requests: string[];
  readonly paid: PaidPayment[];
  readonly unpaid: UnpaidPayment[];
  readonly attentions: OrderAttention[];
  readonly events: PaymentsEvent[];
  /** Starts a process. Handlers that are not given record their calls. Without `store`, it is on the shop's own. */
  start(
    options?: Partial<OrderPaymentsOptions>,
    client?: PaymentsClientOptions,
    store?: JournalStore,
  ): OrderProcess;
}

interface ShopOptions {
  store?: JournalStore;
  /**
   * Runs before the service handles a request, unless it calls `handle` itself. What it returns is the response; what it throws
   * breaks the connection.
   */
  intercept?: (request: Request, handle: () => Promise<Response>) => Promise<Response | undefined>;
}

export const momo = charge;
export const page = { amount: '25.50', customer_email: charge.customer_email };

/** Opens a shop whose records are in memory. */
export function openOrderShop({ store = memoryStore(), intercept }: ShopOptions = {}): OrderShop {
  const service = new PaymentService({
    baseUrl: BASE_URL,
    apiKeys: [API_KEY],
    allowTestCharges: true,
    checkoutBase: 'https://payments.example',
  });
  const requests: string[] = [];
  const paid: PaidPayment[] = [];
  const unpaid: UnpaidPayment[] = [];
  const attentions: OrderAttention[] = [];
  const events: PaymentsEvent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    requests.push(`${request.method} ${request.url.slice(request.url.lastIndexOf('/') + 1)}`);
    const handle = () => service.handle(request);
    const response = (await intercept?.(request, handle)) ?? (await handle());
    if (response.type === 'error') throw createResetError();
    return response;
  };
  return {
    store,
    service: createControls(service, new Webhooks({ sender: 'mock', clock: service.clock })),
    requests,
    paid,
    unpaid,
    attentions,
    events,
    start(options, client, other = store) {
      const journal = memoryJournal({ store: other });
      const payments = new PaymentsClient({
        apiKey: API_KEY,
        baseUrl: BASE_URL,
        maxRetries: 0,
        fetch,
        journal,
        onEvent: (event) => events.push(event),
        ...client,
      });
      const orderPayments = createOrderPayments({
        payments,
        journal,
        onPaid: (payment) => paid.push(payment),
        onUnpaid: (payment) => unpaid.push(payment),
        onAttention: (attention) => attentions.push(attention),
        ...options,
      });
      return { ...orderPayments, payments, journal };
    },
  };
}

/** Returns the POSTs that arrived. */
export const postsOf = ({ requests }: OrderShop) => requests.filter((request) => request.startsWith('POST'));
