import type { Dispatcher } from 'undici';
import type { ResponseSink, TransportRequest } from '../options.ts';
import { createDecompressor, type Decompressor } from './decompress.ts';

/** Sends one request over a dispatcher, once, and passes the response on as it arrives. */
export function dispatch(
  dispatcher: Dispatcher,
  { method, url, headers, body, signal }: TransportRequest,
  sink: ResponseSink,
): Promise<void> {
  const { origin, pathname, search } = new URL(url);
  // Over HTTP/2 undici sends a POST again by itself. Its Agent obeys this; a Pool, a Client and undici 7 do not.
  const version = { allowH2: false };
  const options = { origin, path: pathname + search, method, headers, body: body ?? null, ...version };
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, createHandler(signal, sink, resolve, reject));
  });
}

function createHandler(
  signal: AbortSignal,
  sink: ResponseSink,
  resolve: () => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  let connection: Dispatcher.DispatchController | undefined;
  let decompressor: Decompressor | undefined;
  const abort = () => connection?.abort(new Error('The request was aborted.'));
  const end = (error?: unknown) => {
    signal.removeEventListener('abort', abort);
    if (error === undefined) resolve();
    else reject(error);
  };
  const receive = (bytes: Uint8Array) => {
    const isWanted = sink.onData(bytes);
    if (!isWanted) {
      end();
      abort();
    }
    return isWanted;
  };
  signal.addEventListener('abort', abort, { once: true });

  return {
    onRequestStart(controller) {
      connection = controller;
      // It might have waited for a connection for longer than its timeout.
      if (signal.aborted) abort();
    },
    onResponseStart(controller, status, fields) {
      if (status < 200) return;
      // An unsolicited response was waiting on the connection. It does not belong to this request.
      if (!connection) throw new Error('A response arrived before its request was sent.');
      const get = (name: string) => readHeader(fields, name);
      sink.onHeaders(status, { get });
      decompressor = createDecompressor(get('content-encoding'), receive, () => controller.resume(), end);
    },
    onResponseData(controller, bytes) {
      if (!decompressor) receive(bytes);
      else if (!decompressor.write(bytes)) controller.pause();
    },
    onResponseEnd() {
      if (decompressor) decompressor.end();
      else end();
    },
    onResponseError(_, error) {
      decompressor?.stop();
      end(error ?? new Error('undici failed without an error.'));
    },
  };
}

type Fields = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Joins the values of a repeated header to one list, as fetch does. */
function readHeader(fields: Fields, name: string): string | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
