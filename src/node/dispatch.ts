import type { Dispatcher } from 'undici';
import type { ResponseSink, TransportRequest } from '../options.ts';
import { createDecompressor, type Decompressor } from './decompress.ts';

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Sends one request over a dispatcher, once, and gives its answer on as it comes in. */
export function exchange(
  dispatcher: Dispatcher,
  { method, url, headers, body, signal }: TransportRequest,
  answer: ResponseSink,
): Promise<void> {
  const { origin, pathname, search } = new URL(url);
  // Over HTTP/2 undici sends a POST again by itself. Its Agent heeds this; a Pool, a Client and undici 7 do not.
  const version = { allowH2: false };
  const outgoing = { origin, path: pathname + search, method, headers, body: body ?? null, ...version };
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(outgoing, createHandler(signal, answer, resolve, reject));
  });
}

function createHandler(
  signal: AbortSignal,
  answer: ResponseSink,
  resolve: () => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  let connection: Dispatcher.DispatchController | undefined;
  let decompressor: Decompressor | undefined;
  const stop = () => connection?.abort(new Error('The request was given up.'));
  const end = (error?: unknown) => {
    signal.removeEventListener('abort', stop);
    if (error === undefined) resolve();
    else reject(error);
  };
  const take = (bytes: Uint8Array) => {
    const isWanted = answer.onData(bytes);
    if (!isWanted) {
      end();
      stop();
    }
    return isWanted;
  };
  signal.addEventListener('abort', stop, { once: true });

  return {
    // It may have waited for a connection until nobody wanted it any more.
    onRequestStart(controller) {
      connection = controller;
      if (signal.aborted) stop();
    },
    onResponseStart(controller, status, fields) {
      if (status < 200) return;
      // An unsolicited response was waiting on the connection: it is not to this request.
      if (!connection) throw new Error('A response came before its request was sent.');
      const get = (name: string) => field(fields, name);
      answer.onHeaders(status, { get });
      decompressor = createDecompressor(get('content-encoding'), take, () => controller.resume(), end);
    },
    onResponseData(controller, bytes) {
      if (!decompressor) take(bytes);
      else if (!decompressor.write(bytes)) controller.pause();
    },
    onResponseEnd() {
      if (decompressor) decompressor.end();
      else end();
    },
    onResponseError(_, error) {
      decompressor?.stop();
      end(error ?? new Error('undici failed without saying why'));
    },
  };
}

/** A field that came more than once is one list, as in fetch. */
function field(fields: Headers, name: string): string | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
