import type { OperationName } from '../../api/operations.ts';
import { parseJson } from '../../support/untrusted.ts';
import { respondWithFault } from './apply-fault.ts';
import { Clock } from './clock.ts';
import { FaultQueue } from './fault-queue.ts';
import { type Fault, type FaultOrder, parseFault } from './faults.ts';
import { type KeyMode, type KnownStatus, Ledger, type LedgerOptions } from './ledger.ts';
import {
  createChargeBody,
  createErrorResponse,
  createInitializeBody,
  createVerifyBody,
  type SuccessBody,
} from './responses.ts';
import {
  type AcceptedKeys,
  type Command,
  findKeyMode,
  HttpRejection,
  matchRoute,
  parseRequest,
  type Route,
} from './validate-request.ts';

/** A request that arrived below the base URL, whether or not it was rejected. */
export interface RecordedRequest {
  /** `null` if no operation has this path. */
  readonly operation: OperationName | null;
  readonly method: string;
  /** Below the base URL, such as `/transactions/initialize`. */
  readonly path: string;
  /** With names in lower case, and without `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed if it is JSON, otherwise text. `null` if there was none. */
  readonly body: unknown;
}

export interface Exchange {
  readonly request: RecordedRequest;
  /** The mode of its key. `null` if the key is missing or not valid. */
  readonly mode: KeyMode | null;
  /** Whether it had an `Authorization` header. */
  readonly hasKey: boolean;
  /** When the request arrived, in epoch milliseconds. */
  readonly at: number;
  readonly reference: string | null;
  /** The status of that transaction when the service acted. `null` if it did not act. */
  readonly found: KnownStatus | null;
  readonly fault: Fault['kind'] | null;
  /** `null` while there is no response, and if the connection broke. */
  readonly status: number | null;
  /** The body of an error response, as text. `null` for any other. */
  readonly errorBody: string | null;
  /** Milliseconds until the headers of the response were ready. `null` until then. A slow body continues after that. */
  readonly duration: number | null;
}

/** An exchange of which parts are not known yet. */
type OpenExchange = { -readonly [Name in keyof Exchange]: Exchange[Name] };

export interface ServiceOptions extends AcceptedKeys {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** What precedes `/checkout/<reference>` in a `checkout_url`. */
  readonly checkoutBase: string;
  readonly ledger?: LedgerOptions;
  /** How many of the latest requests to keep, at least. At most twice as many are kept. Default: all. */
  readonly keepRequests?: number;
  /** How much of a longer body to keep: the beginning of its text. Default: all. */
  readonly maxBodyChars?: number;
  readonly onExchange?: (exchange: Exchange) => void;
  /** Called after that if the client was gone before it had the whole response. */
  readonly onResponseLost?: (exchange: Exchange) => void;
}

/**
 * The payment service in memory, as docs/reference/service.md describes it. It turns a request into a response, and
 * knows nothing of MSW or sockets.
 */
export class PaymentService {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly faults = new FaultQueue<FaultOrder>();
  readonly #options: ServiceOptions;
  readonly #basePath: string;
  #exchanges: Exchange[] = [];
  readonly #byRequest = new WeakMap<Request, OpenExchange>();
  #lifetime = new AbortController();

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.clock = options.ledger?.clock ?? new Clock();
    this.ledger = new Ledger({ ...options.ledger, clock: this.clock });
    this.#basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
  }

  /** The requests that arrived, oldest first, with what is known of their responses. */
  get exchanges(): readonly Exchange[] {
    return this.#exchanges;
  }

  /** Handles one request. A response of type `error` stands for a connection that breaks. */
  async handle(request: Request): Promise<Response> {
    const at = this.clock.now();
    const startedAt = performance.now();
    const { method, headers } = request;
    const body = method === 'GET' || method === 'HEAD' ? '' : await request.text();
    const { apiKeys, maxBodyChars = Number.POSITIVE_INFINITY } = this.#options;
    const { path, route } = this.#route(new URL(request.url).pathname);
    const exchange: OpenExchange = {
      request: {
        operation: route?.name ?? null,
        method,
        path,
        headers: Object.fromEntries([...headers].filter(([name]) => name !== 'authorization')),
        body: parseRecordedBody(body, maxBodyChars),
      },
      mode: findKeyMode(headers, apiKeys),
      hasKey: headers.has('authorization'),
      at,
      reference: route?.reference || null,
      found: null,
      fault: null,
      status: null,
      errorBody: null,
      duration: null,
    };
    this.#record(exchange);
    this.#byRequest.set(request, exchange);
    const response = await this.#respond(request, route, body, exchange);
    exchange.duration = performance.now() - startedAt;
    if (response.type !== 'error') {
      exchange.status = response.status;
      if (response.status >= 400) exchange.errorBody = (await response.clone().text()).slice(0, maxBodyChars);
    }
    this.#options.onExchange?.(exchange);
    return response;
  }

  /** Records that the client was gone before it had the whole response. */
  loseResponse(request: Request): void {
    const exchange = this.#byRequest.get(request);
    if (!exchange) return;
    exchange.status = null;
    this.#options.onResponseLost?.(exchange);
  }

  /** Breaks the next valid requests of an operation. Throws for a fault that is not possible. */
  orderFault(operation: string, fault: unknown, times: number): void {
    this.faults.add(parseFault(operation, fault), times);
  }

  reset(): void {
    this.ledger.clear();
    this.faults.clear();
    this.#exchanges = [];
    this.breakConnections();
  }

  breakConnections(): void {
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  #route(pathname: string): { path: string; route: Route | undefined } {
    if (!pathname.startsWith(`${this.#basePath}/`)) return { path: pathname, route: undefined };
    const path = pathname.slice(this.#basePath.length);
    return { path, route: matchRoute(path) };
  }

  #record(exchange: Exchange): void {
    const { keepRequests = Number.POSITIVE_INFINITY } = this.#options;
    this.#exchanges.push(exchange);
    if (this.#exchanges.length > 2 * keepRequests) this.#exchanges = this.#exchanges.slice(-keepRequests);
  }

  async #respond(
    { method, headers, signal }: Request,
    route: Route | undefined,
    body: string,
    exchange: OpenExchange,
  ): Promise<Response> {
    try {
      const command = parseRequest(route, { method, headers, body }, this.#options);
      if (command.operation === 'verify') this.#refuseOtherMode(command.reference, command.mode);
      const ordered = this.faults.take(({ operation }) => operation === command.operation);
      const fault = ordered?.fault;
      exchange.fault = fault?.kind ?? null;
      return await respondWithFault(fault, {
        act: () => {
          const success = this.#execute(command);
          const { reference } = success.data;
          const entry = this.ledger.find(reference);
          exchange.reference = reference;
          exchange.found = entry ? this.ledger.getReportedStatus(entry) : null;
          return success;
        },
        approveAfter: (reference, delay) => this.ledger.settleAfter(reference, delay, 'success'),
        getDisconnectSignal: () => AbortSignal.any([signal, this.#lifetime.signal]),
      });
    } catch (error) {
      if (error instanceof HttpRejection) return createErrorResponse(error);
      throw error;
    }
  }

  /** The keys of one mode do not see the transactions of the other, and use up no step of a script and no fault. */
  #refuseOtherMode(reference: string, mode: KeyMode): void {
    const entry = this.ledger.find(reference);
    if (entry && entry.mode !== mode) throw createNotFound(mode);
  }

  #execute(command: Command): SuccessBody {
    const { ledger } = this;
    switch (command.operation) {
      case 'initialize':
        return createInitializeBody(ledger.create(command.input, command), this.#options.checkoutBase);
      case 'chargeMobileMoney':
        return createChargeBody(ledger.create(command.input, command));
      case 'verify': {
        const entry = ledger.verify(command.reference);
        if (!entry) throw createNotFound(command.mode);
        return createVerifyBody(entry, ledger.getReportedStatus(entry));
      }
    }
  }
}

function createNotFound(mode: KeyMode): HttpRejection {
  return new HttpRejection(404, `There is no such transaction in ${mode} mode.`);
}

function parseRecordedBody(body: string, maxChars: number): unknown {
  if (body === '') return null;
  if (body.length > maxChars) return body.slice(0, maxChars);
  const parsed: unknown = parseJson(body);
  return parsed === undefined ? body : parsed;
}
