/**
 * For busy pollers on Node: requests through undici's own dispatcher, at less CPU than `fetch`.
 *
 * @module payment-collection-client/node
 */

import type { Dispatcher } from 'undici';
import { ConfigurationError } from '../errors.ts';
import { markOwnConnections } from '../http/own-connections.ts';
import type { Transport } from '../options.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { exchange } from './dispatch.ts';
import { Agent } from './undici.ts';

export type { ResponseSink, Transport, TransportRequest } from '../options.ts';

/** What {@link undiciTransport} is made from. */
export interface UndiciTransportOptions {
  /**
   * The most connections to the service at once. Further requests wait for one to come free, and their timeout goes on
   * meanwhile: a POST whose time is over in that queue is not sent, but counts as unknown.
   *
   * @default no limit
   */
  connections?: number | undefined;
  /**
   * A dispatcher of your own, such as undici's `EnvHttpProxyAgent`, which stays yours to close. It must not send a
   * request again by itself, and must not follow redirects.
   *
   * Do not let it speak HTTP/2: undici then sends a POST again after REFUSED_STREAM and GOAWAY, which the client cannot
   * see. Give it `allowH2: false`, since undici 8 speaks HTTP/2 by default. Its `Agent` is asked for HTTP/1.1 with each
   * request, but a `Pool`, a `Client` and a dispatcher around them are not bound by that.
   *
   * An error of it proves that nothing was sent only if it names host and port of the base URL: anything else might come
   * from a proxy or an interceptor, and is `unknown`.
   *
   * @default an `Agent` of the transport's own, which uses no proxy
   */
  dispatcher?: Dispatcher | undefined;
}

const OPTIONS: Readonly<Record<keyof UndiciTransportOptions, true>> = { connections: true, dispatcher: true };

/** A {@link Transport} with connections of its own. It may serve several clients. */
export interface UndiciTransport extends Transport {
  /** Closes its connections once the requests on them have ended. A process ends without it too. */
  close(): Promise<void>;
  /** {@link close}, at the end of the scope of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Sends requests through undici's dispatcher, at less than half the CPU of `fetch`: for a process that polls a great
 * deal. Every promise of the client holds the same. For Node; also tried on Deno 2.9. Bun has no such undici.
 *
 * What replaces `fetch` does not see these requests: MSW, and with it `payment-collection-client/testing`, and a fake
 * `fetch`. In tests leave the transport out. OpenTelemetry's instrumentation of undici does see them.
 *
 * @throws {ConfigurationError} if an option cannot work, or if the runtime's undici has no dispatcher, as on Bun.
 *
 * @example
 * ```ts
 * import { undiciTransport } from 'payment-collection-client/node';
 *
 * const payments = new PaymentsClient({ transport: undiciTransport({ connections: 64 }) });
 * ```
 */
export function undiciTransport(options: UndiciTransportOptions = {}): UndiciTransport {
  const { connections, dispatcher, ...unknown } = options;
  refuseUnknownOption(unknown, OPTIONS);
  if (connections !== undefined && !(Number.isInteger(connections) && connections > 0))
    throw new ConfigurationError('connections must be a whole number, 1 or more.');
  if (connections !== undefined && dispatcher !== undefined)
    throw new ConfigurationError('connections is for the own Agent: set it on your dispatcher instead.');
  if (dispatcher !== undefined && typeof dispatcher?.dispatch !== 'function')
    throw new ConfigurationError('dispatcher must be a dispatcher of undici.');
  const used = dispatcher ?? createAgent(connections);
  // Bun replaces undici by a stub.
  if (typeof used.dispatch !== 'function')
    throw new ConfigurationError(
      'undiciTransport does not work here: the undici of this runtime sends nothing. Leave transport out, so that fetch is used.',
    );
  const close = async () => {
    if (used !== dispatcher) await used.close();
  };
  const send: Transport['send'] = (request, answer) => exchange(used, request, answer);
  return {
    send: dispatcher ? send : markOwnConnections(send, () => true),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** HTTP/1.1, as fetch uses; a service's Keep-Alive hint shortens how long a connection may lie idle. Time is the client's. */
function createAgent(connections: number | undefined) {
  return new Agent({
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(connections === undefined ? {} : { connections }),
  });
}
