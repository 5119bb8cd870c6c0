import type { OperationName } from '../contract/operation.ts';
import { type Answer, initialized, prompted, refused, verified } from './answers.ts';
import { FaultQueue } from './faults.ts';
import { answerUnder } from './faulty-answers.ts';
import { Ledger } from './ledger.ts';
import { type Command, commandOf, type KeyRules, type Place, placeOf, Refusal } from './rules.ts';

/** A request that came in below the base URL, as it was, whether or not it was refused. */
export interface SeenRequest {
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

export interface ServiceOptions extends KeyRules {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** The address under which `/checkout/<reference>` lies. */
  readonly checkoutBase: string;
}

/** The service of SPEC.md, in memory: a request goes in, its answer comes out. It knows nothing of MSW or sockets. */
export class PaymentService {
  readonly ledger = new Ledger();
  readonly faults = new FaultQueue();
  readonly #options: ServiceOptions;
  readonly #basePath: string;
  #requests: SeenRequest[] = [];
  #lifetime = new AbortController();

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
  }

  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** Answers one request. A response of type `error` stands for a connection that breaks. */
  async handle(request: Request): Promise<Response> {
    const { method, headers } = request;
    const body = await request.text();
    const { path, place } = this.#find(new URL(request.url).pathname);
    this.#requests.push({
      operation: place?.name ?? null,
      method,
      path,
      headers: withoutKey(headers),
      body: readable(body),
    });
    try {
      const command = commandOf(place, { method, headers, body }, this.#options);
      return await this.#answer(command, request.signal);
    } catch (error) {
      if (error instanceof Refusal) return refused(error);
      throw error;
    }
  }

  /** Forgets everything, and breaks the connections that hang. */
  reset(): void {
    this.ledger.clear();
    this.faults.clear();
    this.#requests = [];
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  #find(pathname: string): { path: string; place: Place | undefined } {
    if (!pathname.startsWith(`${this.#basePath}/`)) return { path: pathname, place: undefined };
    const path = pathname.slice(this.#basePath.length);
    return { path, place: placeOf(path) };
  }

  #answer(command: Command, signal: AbortSignal): Promise<Response> {
    return answerUnder(this.faults.take(command.operation), {
      act: () => this.#act(command),
      approveAfter: (reference, delay) => this.ledger.settleAfter(reference, delay, 'success'),
      gone: () => AbortSignal.any([signal, this.#lifetime.signal]),
    });
  }

  #act(command: Command): Answer {
    switch (command.operation) {
      case 'initialize':
        return initialized(this.ledger.create(command.input), this.#options.checkoutBase);
      case 'chargeMobileMoney':
        return prompted(this.ledger.create(command.input));
      case 'verify': {
        const entry = this.ledger.verify(command.reference);
        if (!entry) throw new Refusal(404, 'There is no such transaction.');
        return verified(entry);
      }
    }
  }
}

function withoutKey(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'authorization'));
}

function readable(body: string): unknown {
  if (body === '') return null;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
