import type { OperationName } from '../api/operations.ts';
import { ClosedError } from '../errors.ts';
import { DeadlineExceeded, elapsedSince, nextTurn, readClocks } from '../support/timing.ts';
import { isObject, orUndefined } from '../support/untrusted.ts';
import { REQUEST_ID } from './request-id.ts';
import type { ResponseBuffer } from './response.ts';

/** The lease of an idempotency key: a request of its call leaves only while this process holds it. */
export interface SendLease {
  readonly redactedKey: string;
  /** What the first request carries: the key was claimed with them. A retry has an id of its own, and a rotated API key. */
  readonly first: { readonly apiKey: string | undefined; readonly requestId: string };
  readonly isHeld: boolean;
  /** Aborted once it is over, as soon as a timer can tell. */
  readonly over: AbortSignal;
  /** Called before each request leaves. If it rejects, nothing is sent. */
  admit(request: LeavingRequest): Promise<void>;
  /** @throws {PaymentsError} if this process does not hold it. */
  assertHeld(): void;
}

export interface LeavingRequest {
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  readonly apiKey: string;
  /** Redacted. */
  readonly requestId: string;
}

interface GatedCall {
  readonly operation: { readonly name: OperationName };
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  readonly lease?: SendLease | undefined;
}

/**
 * Keeps the request of one attempt back unless it can still leave: its call is not aborted, the client is open, its time is not over,
 * and its lease is held. {@link open} asks right before the request is dispatched, and {@link watch} until it has left.
 */
export class Gate {
  readonly #call: GatedCall;
  readonly #closing: AbortSignal;
  readonly #response: ResponseBuffer;
  #areHeadersSent = false;
  #endWatch = () => {};

  constructor(call: GatedCall, closing: AbortSignal, response: ResponseBuffer) {
    this.#call = call;
    this.#closing = closing;
    this.#response = response;
  }

  /** Whether the request is known to have left this process within its limits. */
  get hasLeft(): boolean {
    return this.#areHeadersSent || this.#response.status !== null;
  }

  /** Does what comes before the request. @throws if its lease does not admit it: nothing was sent */
  async prepare(request: LeavingRequest): Promise<void> {
    const { body, lease } = this.#call;
    if (lease) await lease.admit(request);
    if (body !== undefined) await flushSocketCloses();
  }

  /** Opens for the request, which is dispatched in this very turn. @throws what keeps it back: nothing was sent */
  open(): void {
    const { operation, signal, lease } = this.#call;
    signal?.throwIfAborted();
    if (this.#closing.aborted) throw new ClosedError(operation.name);
    lease?.assertHeld();
  }

  /**
   * Stops a request that has been dispatched and has not left within its time limit and its lease: a transport might be connecting
   * for it while the process is frozen.
   *
   * @param sentId the id that the request carries.
   */
  watch(sentId: string, stop: (why: Error) => void): void {
    const { timeout, lease } = this.#call;
    const startedAt = readClocks();
    const stopForLease = () => stop(new Error('the lease of the idempotency key is over'));
    this.#endWatch = onSendHeaders(sentId, () => {
      if (elapsedSince(startedAt) >= timeout) stop(new DeadlineExceeded());
      else if (lease?.isHeld === false) stopForLease();
      else this.#areHeadersSent = true;
    });
    lease?.over.addEventListener('abort', () => this.hasLeft || stopForLease());
  }

  close(): void {
    this.#endWatch();
  }
}

/**
 * Lets the event loop process the closes of idle connections, before a charge is written to one of them.
 *
 * A process that was busy or frozen (a function between two calls) notices only then that the service has closed a
 * connection. A charge written to it before could not be distinguished from a charge that arrived.
 *
 * It takes two whole turns, so three ends of one. In the first, the caller's own event can be ahead of the close, if it continues
 * from a file, a name lookup or a message. A socket that was found closed is destroyed at the end of a turn.
 */
async function flushSocketCloses(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

/** Node's fetch and undici publish here that they write the headers of a request next. Other runtimes publish nothing. */
const CHANNEL = 'undici:client:sendHeaders';

/** Of the requests under way, by the id that they carry. A caller's own id can be that of several. */
const listeners = new Map<string, Set<() => void>>();

/**
 * Calls `listener` right before the headers of a request with this id are written, on a runtime that shows it. An abort at
 * that moment still keeps them back. Returns a function that ends it: nothing is subscribed while no request is under way.
 */
function onSendHeaders(requestId: string, listener: () => void): () => void {
  if (listeners.size === 0) diagnostics()?.subscribe(CHANNEL, onMessage);
  const same = listeners.get(requestId) ?? new Set();
  listeners.set(requestId, same.add(listener));
  return () => {
    same.delete(listener);
    if (same.size === 0) listeners.delete(requestId);
    if (listeners.size === 0) diagnostics()?.unsubscribe(CHANNEL, onMessage);
  };
}

// Never imported: a browser and a bundler have no such module.
const diagnostics = () => orUndefined(() => globalThis.process.getBuiltinModule('node:diagnostics_channel'));

/** Names and values of the headers take turns, in every version of undici since 6. */
function onMessage(message: unknown): void {
  const request = isObject(message) && 'request' in message ? message.request : undefined;
  const headers = isObject(request) && 'headers' in request ? request.headers : undefined;
  if (!Array.isArray(headers)) return;
  const id: unknown = headers[headers.indexOf(REQUEST_ID) + 1];
  if (typeof id !== 'string') return;
  for (const listener of listeners.get(id) ?? []) listener();
}
