import type { Expectation } from '../api/input.ts';
import type { CreateOperation } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import type { AnyTransaction } from '../errors.ts';
import type { Report } from '../events.ts';
import type { Resolution, ResolutionNote } from '../journal/resolution.ts';
import type { Redact } from '../redact.ts';

/** What the protocol reads of a request that creates a transaction. */
export interface CreateRequest {
  readonly amount: number;
  readonly currency?: string | undefined;
  readonly customer_email: string;
  readonly phone?: string | undefined;
  readonly network?: string | undefined;
}

/** A validated call with an `idempotencyKey`, as the client hands it to the protocol of its journal. */
export interface KeyedCall<Input, Request extends CreateRequest, Result extends AnyTransaction> {
  /** As the caller gave it. */
  readonly idempotencyKey: string;
  readonly operation: CreateOperation<Input, Request, Result>;
  readonly request: Request;
  /** The JSON text that is sent. */
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  readonly baseUrl: string;
  readonly report: Report;
  /** Redacts the API key in a reference or another id. */
  readonly redactId: (id: string) => string;
  /** Returns the API key, or rejects with the reason of `signal`. */
  resolveApiKey(signal: AbortSignal): Promise<string>;
  /** Returns the `X-Request-Id` of the first attempt. */
  createRequestId(): string;
  /** How long after the claim a follow-up checks the payment for the first time, in milliseconds. */
  readonly firstCheckIn: number;
  /** Sends the request, with the client's retries. */
  send(given: SendOptions): Promise<{ result: Result; redact: () => Redact }>;
}

/** What the protocol adds to a call when it sends it. */
interface SendOptions {
  /** The redacted key, for error messages. */
  readonly idempotencyKey: string;
  /** The API key of the first attempt; `undefined`: it is asked for. Each retry asks for it. */
  readonly apiKey: string | undefined;
  /** The `X-Request-Id` of the first attempt. */
  readonly requestId: string;
  /** Runs before each retry, with the redacted id of its request. If it rejects, nothing is sent. */
  readonly beforeRetry: (attempt: { requestId: string }) => Promise<void>;
  /** Runs right before each attempt is sent. If it throws, nothing is sent. */
  readonly beforeSending: (attempt: { apiKey: string }) => void;
}

/** A call that resolves a key, as the client hands it to the protocol of its journal. */
export interface ResolveCall {
  readonly idempotencyKey: string;
  readonly resolution: Resolution;
  readonly note: ResolutionNote;
  readonly baseUrl: string;
  readonly report: Report;
  /** Redacts the API key in a reference or another id. */
  readonly redactId: (id: string) => string;
  /** Returns the API key. */
  resolveApiKey(): Promise<string>;
  /** Asks the service for a transaction. It rejects if the transaction is not as `expect` says. */
  verify(reference: string, expect?: Expectation): Promise<Transaction>;
}
