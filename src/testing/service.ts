import type { OperationName } from '../api/operations.ts';
import { parseJson } from '../untrusted.ts';
import { respondWithFault } from './apply-fault.ts';
import { FaultQueue } from './fault-queue.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import {
  createChargeBody,
  createErrorResponse,
  createInitializeBody,
  createVerifyBody,
  type SuccessBody,
} from './responses.ts';
import {
  type Command,
  HttpRejection,
  type KeyRules,
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

/** A request and its response. */
export interface Exchange {
  readonly request: RecordedRequest;
  /** The transaction that it created or read, or `null`. */
  readonly reference: string | null;
  /** `null` if the connection broke. */
  readonly status: number | null;
  /** When the request arrived, in epoch milliseconds. */
  readonly at: number;
  /** Milliseconds until the headers of the response were ready. A slow body continues after that. */
  readonly duration: number;
}

export interface ServiceOptions extends KeyRules {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** What precedes `/checkout/<reference>` in a `checkout_url`. */
  readonly checkoutBase: string;
  readonly ledger?: LedgerOptions;
  /** How many of the latest requests to keep, at least. At most twice as many are kept. Default: all. */
  readonly keepRequests?: number;
  /** Called for each request once its response is ready. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/**
 * The payment service in memory, as docs/reference/service.md describes it. It turns a request into a response, and
 * knows nothing of MSW or sockets.
 */
export class PaymentService {
  readonly ledger: Ledger;
  readonly faults = new FaultQueue();
  readonly #options: ServiceOptions;
  readonly #basePath: string;
  #requests: RecordedRequest[] = [];
  #lifetime = new AbortController();

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.ledger = new Ledger(options.ledger);
    this.#basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
  }

  get requests(): readonly RecordedRequest[] {
    return this.#requests;
  }

  /** Handles one request. A response of type `error` stands for a connection that breaks. */
  async handle(request: Request): Promise<Response> {
    const at = Date.now();
    const startedAt = performance.now();
    const { method, headers } = request;
    const body = method === 'GET' || method === 'HEAD' ? '' : await request.text();
    const { path, route } = this.#route(new URL(request.url).pathname);
    const recorded = this.#record({
      operation: route?.name ?? null,
      method,
      path,
      headers: Object.fromEntries([...headers].filter(([name]) => name !== 'authorization')),
      body: parseRecordedBody(body),
    });
    const subject: Subject = { reference: route?.reference || null };
    const response = await this.#respond(request, route, body, subject);
    this.#options.onExchange?.({
      request: recorded,
      reference: subject.reference,
      status: response.type === 'error' ? null : response.status,
      at,
      duration: performance.now() - startedAt,
    });
    return response;
  }

  /** Deletes everything, and breaks the connections that hang. */
  reset(): void {
    this.ledger.clear();
    this.faults.clear();
    this.#requests = [];
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  #route(pathname: string): { path: string; route: Route | undefined } {
    if (!pathname.startsWith(`${this.#basePath}/`)) return { path: pathname, route: undefined };
    const path = pathname.slice(this.#basePath.length);
    return { path, route: matchRoute(path) };
  }

  #record(request: RecordedRequest): RecordedRequest {
    const { keepRequests = Number.POSITIVE_INFINITY } = this.#options;
    this.#requests.push(request);
    if (this.#requests.length > 2 * keepRequests) this.#requests = this.#requests.slice(-keepRequests);
    return request;
  }

  async #respond(
    { method, headers, signal }: Request,
    route: Route | undefined,
    body: string,
    subject: Subject,
  ): Promise<Response> {
    try {
      const command = parseRequest(route, { method, headers, body }, this.#options);
      return await respondWithFault(this.faults.take(command.operation), {
        act: () => {
          const success = this.#execute(command);
          subject.reference = success.data.reference;
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

  #execute(command: Command): SuccessBody {
    switch (command.operation) {
      case 'initialize':
        return createInitializeBody(this.ledger.create(command.input), this.#options.checkoutBase);
      case 'chargeMobileMoney':
        return createChargeBody(this.ledger.create(command.input));
      case 'verify': {
        const entry = this.ledger.verify(command.reference);
        if (!entry) throw new HttpRejection(404, 'There is no such transaction.');
        return createVerifyBody(entry);
      }
    }
  }
}

/** The transaction that a request is about. A POST has none until the service acts. */
interface Subject {
  reference: string | null;
}

function parseRecordedBody(body: string): unknown {
  if (body === '') return null;
  const parsed: unknown = parseJson(body);
  return parsed === undefined ? body : parsed;
}
