import type { OperationName } from '../api/operations.ts';
import { parseJson } from '../untrusted.ts';
import { respondWithFault } from './apply-fault.ts';
import { FaultQueue } from './faults.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import { chargeBody, errorResponse, initializeBody, type SuccessBody, verifyBody } from './responses.ts';
import {
  type Command,
  HttpRejection,
  type KeyRules,
  matchRoute,
  parseRequest,
  type Route,
  type WireRequest,
} from './validate-request.ts';

/** A request that came in below the base URL, as it was, whether or not it was refused. */
export interface RecordedRequest {
  /** `null` where the path is none of SPEC.md's. */
  readonly operation: OperationName | null;
  readonly method: string;
  /** Below the base URL, such as `/transactions/initialize`. */
  readonly path: string;
  /** With names in lower case, and without `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON, else text; `null` where there was none. */
  readonly body: unknown;
}

/** A request and what came of it. */
export interface Exchange {
  readonly request: RecordedRequest;
  /** The transaction that it made or asked about; `null` where there was none. */
  readonly reference: string | null;
  /** `null` where the connection broke. */
  readonly status: number | null;
  /** When it came in, in epoch milliseconds. */
  readonly at: number;
  /** Milliseconds until the answer was ready; a body that dribbles goes on after that. */
  readonly duration: number;
}

export interface ServiceOptions extends KeyRules {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** The address under which `/checkout/<reference>` lies. */
  readonly checkoutBase: string;
  readonly ledger?: LedgerOptions;
  /** How many of the latest requests are kept at least. Default: all. */
  readonly keepRequests?: number;
  /** Told of each request once it is answered. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/** The service of SPEC.md, in memory: a request goes in, its answer comes out. It knows nothing of MSW or sockets. */
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

  /** Answers one request. A response of type `error` stands for a connection that breaks. */
  async handle(request: Request): Promise<Response> {
    const at = Date.now();
    const began = performance.now();
    const { method, headers } = request;
    const body = method === 'GET' || method === 'HEAD' ? '' : await request.text();
    const { path, place } = this.#find(new URL(request.url).pathname);
    const seen: RecordedRequest = {
      operation: place?.name ?? null,
      method,
      path,
      headers: withoutKey(headers),
      body: readable(body),
    };
    this.#keep(seen);
    const about: About = { reference: place?.reference || null };
    const response = await this.#answer(place, { method, headers, body }, request, about);
    this.#options.onExchange?.({
      request: seen,
      reference: about.reference,
      status: response.type === 'error' ? null : response.status,
      at,
      duration: performance.now() - began,
    });
    return response;
  }

  /** Forgets everything, and breaks the connections that hang. */
  reset(): void {
    this.ledger.clear();
    this.faults.clear();
    this.#requests = [];
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  #find(pathname: string): { path: string; place: Route | undefined } {
    if (!pathname.startsWith(`${this.#basePath}/`)) return { path: pathname, place: undefined };
    const path = pathname.slice(this.#basePath.length);
    return { path, place: matchRoute(path) };
  }

  #keep(seen: RecordedRequest): void {
    const { keepRequests = Number.POSITIVE_INFINITY } = this.#options;
    this.#requests.push(seen);
    if (this.#requests.length > 2 * keepRequests) this.#requests = this.#requests.slice(-keepRequests);
  }

  async #answer(
    place: Route | undefined,
    wire: WireRequest,
    request: Request,
    about: About,
  ): Promise<Response> {
    try {
      const command = parseRequest(place, wire, this.#options);
      return await respondWithFault(this.faults.next(command.operation), {
        act: () => {
          const answer = this.#act(command);
          about.reference = answer.data.reference;
          return answer;
        },
        approveAfter: (reference, delay) => this.ledger.settleAfter(reference, delay, 'success'),
        clientGone: () => AbortSignal.any([request.signal, this.#lifetime.signal]),
      });
    } catch (error) {
      if (error instanceof HttpRejection) return errorResponse(error);
      throw error;
    }
  }

  #act(command: Command): SuccessBody {
    switch (command.operation) {
      case 'initialize':
        return initializeBody(this.ledger.create(command.input), this.#options.checkoutBase);
      case 'chargeMobileMoney':
        return chargeBody(this.ledger.create(command.input));
      case 'verify': {
        const entry = this.ledger.verify(command.reference);
        if (!entry) throw new HttpRejection(404, 'There is no such transaction.');
        return verifyBody(entry);
      }
    }
  }
}

/** Which transaction a request turned out to be about. */
interface About {
  reference: string | null;
}

function withoutKey(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'authorization'));
}

function readable(body: string): unknown {
  if (body === '') return null;
  const value = parseJson(body);
  return value === undefined ? body : value;
}
