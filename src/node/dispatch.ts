import type { Dispatcher } from 'undici';
import type { ResponseSink, TransportRequest } from '../options.ts';
import { createDecompressor, type Decompressor } from './decompress.ts';

/** Sends one request over a dispatcher, once, and passes the response on as it arrives. */
export function dispatch(
  dispatcher: Dispatcher,
  { method, url, headers, body, signal }: TransportRequest,
  sink: ResponseSink,
): Promise<void> {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2);
  const options = {
    origin: url.slice(0, pathAt),
    path: url.slice(pathAt),
    method,
    headers,
    body: body ?? null,
    // Over HTTP/2 undici sends a POST again by itself. Its Agent obeys this; a Pool, a Client and undici 7 do not.
    allowH2: false,
  };
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new Handler(signal, sink, resolve, reject));
  });
}

/** Handles one request and its response. A class, because a set of closures for each request costs more. */
class Handler implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #sink: ResponseSink;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = () => this.#abort();
  #connection: Dispatcher.DispatchController | undefined;
  #decompressor: Decompressor | undefined;

  constructor(
    signal: AbortSignal,
    sink: ResponseSink,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#signal = signal;
    this.#sink = sink;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#connection = controller;
    // It might have waited for a connection for longer than its timeout.
    if (this.#signal.aborted) this.#abort();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, fields: Fields): void {
    if (status < 200) return;
    // An unsolicited response was waiting on the connection. It does not belong to this request.
    if (!this.#connection) throw new Error('A response arrived before its request was sent.');
    const get = (name: string) => readHeader(fields, name);
    this.#sink.onHeaders(status, { get });
    this.#decompressor = createDecompressor(
      get('content-encoding'),
      (bytes) => this.#receive(bytes),
      () => controller.resume(),
      (error) => {
        this.#end(error);
        // What cannot be decoded is not read to its end, so its connection would never be free again.
        if (error !== undefined) this.#abort();
      },
    );
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Uint8Array): void {
    if (!this.#decompressor) this.#receive(bytes);
    else if (!this.#decompressor.write(bytes)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#decompressor) this.#decompressor.end();
    else this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#decompressor?.stop();
    this.#end(error ?? new Error('undici failed without an error.'));
  }

  #receive(bytes: Uint8Array): boolean {
    const isWanted = this.#sink.onData(bytes);
    if (!isWanted) {
      this.#end();
      this.#abort();
    }
    return isWanted;
  }

  #abort(): void {
    this.#connection?.abort(new Error('The request was aborted.'));
  }

  #end(error?: unknown): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    if (error === undefined) this.#resolve();
    else this.#reject(error);
  }
}

type Fields = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Joins the values of a repeated header to one list, as fetch does. */
function readHeader(fields: Fields, name: string): string | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
