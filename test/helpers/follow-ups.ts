import { createControls, type PaymentControls } from '../../src/developers/mock/controls.ts';
import { PaymentService } from '../../src/developers/service/service.ts';
import { Webhooks } from '../../src/developers/service/webhooks.ts';
import { createFollowUps, type FollowUps, type FollowUpsOptions } from '../../src/follow-ups/index.ts';
import { PaymentsClient, type PaymentsClientOptions, type PaymentsEvent } from '../../src/index.ts';
import { type Journal, type JournalStore, memoryJournal, memoryStore } from '../../src/stores/index.ts';
import { createResetError } from './scripted-service.ts';
import { API_KEY, charge } from './service.ts';

/** Takes what is written with `console.error` without a logger. */
const silentLogger = { debug() {}, info() {}, warn() {}, error() {} };

const BASE_URL = 'https://payments.example/api/v1';

/** A process that follows payments: a client and a journal of its own, over the shop's records. */
interface FollowUpProcess extends FollowUps {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
}

/** A call of a handler, and when it began, in milliseconds since the shop was opened. */
type HandlerCall<T> = T & { at: number };

/** A shop whose payments are followed, and the service that it uses. */
export interface FollowedShop {
  /** Its records, unless `openJournal` was given. */
  readonly store: JournalStore;
  readonly service: PaymentControls;
  /** When each GET arrived, in milliseconds since the shop was opened. */
  readonly gets: { at: number; reference: string }[];
  readonly finals: HandlerCall<{ key: string; reference: string; status: string; email: string | null }>[];
  readonly attentions: HandlerCall<{ key: string; reference?: string; reason: string }>[];
  readonly events: PaymentsEvent[];
  openJournal(): Journal;
  /** Starts a process. Handlers that are not given record their calls. Without `journal`, it opens one of its own. */
  start(
    options?: Partial<FollowUpsOptions>,
    client?: PaymentsClientOptions,
    journal?: Journal,
  ): FollowUpProcess;
  /** Charges under a key, and returns the reference. */
  charge(key: string, client?: PaymentsClientOptions): Promise<string>;
}

/** How long the service takes to respond, and what it responds instead. */
interface ShopOptions {
  store?: JournalStore;
  openJournal?: () => Journal;
  /** Runs before the service handles a request. What it returns is the response; what it throws breaks the connection. */
  intercept?: (request: Request) => Promise<Response | undefined>;
}

/** Opens a shop. Without `openJournal`, its records are in memory. */
export function openShop({
  store = memoryStore(),
  openJournal = () => memoryJournal({ store }),
  intercept,
}: ShopOptions = {}): FollowedShop {
  const apiKeys = [API_KEY];
  const service = new PaymentService({
    baseUrl: BASE_URL,
    apiKeys,
    allowTestCharges: true,
    checkoutBase: 'https://payments.example',
  });
  const openedAt = Date.now();
  const elapsed = () => Date.now() - openedAt;
  const gets: FollowedShop['gets'] = [];
  const finals: FollowedShop['finals'] = [];
  const attentions: FollowedShop['attentions'] = [];
  const events: PaymentsEvent[] = [];

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const reference = decodeURIComponent(request.url.slice(request.url.lastIndexOf('/') + 1));
    if (request.method === 'GET') gets.push({ at: elapsed(), reference });
    const response = (await intercept?.(request)) ?? (await service.handle(request));
    if (response.type === 'error') throw createResetError();
    return response;
  };
  const connect = (journal: Journal, options: PaymentsClientOptions = {}) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl: BASE_URL, maxRetries: 0, fetch, journal, ...options });

  return {
    store,
    service: createControls(service, new Webhooks({ sender: 'mock', clock: service.clock })),
    gets,
    finals,
    attentions,
    events,
    openJournal,
    start(options, client, journal = openJournal()) {
      const payments = connect(journal, {
        onEvent: (event) => events.push(event),
        logger: silentLogger,
        ...client,
      });
      const followUps = createFollowUps({
        payments,
        journal,
        onFinal: ({ key, reference, transaction: { status, customer_email: email } }) =>
          finals.push({ key, reference, status, email, at: elapsed() }),
        onAttention: (attention) => attentions.push({ ...attention, at: elapsed() }),
        ...options,
      });
      return { ...followUps, payments, journal };
    },
    async charge(key, client) {
      return (await connect(openJournal(), client).chargeMobileMoney(charge, { idempotencyKey: key }))
        .reference;
    },
  };
}
