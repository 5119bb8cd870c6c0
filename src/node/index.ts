/**
 * For busy pollers on Node: requests through undici's own dispatcher, at less CPU than `fetch`.
 *
 * @module payment-collection-client/node
 */

import type { Dispatcher } from 'undici';
import { ConfigurationError } from '../errors.ts';
import type { Transport } from '../options.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { exchange } from './exchange.ts';
import { Agent } from './undici.ts';

export type { Transport, TransportAnswer, TransportRequest } from '../options.ts';

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
 * deal. Every promise of the client holds the same.
 *
 * What replaces `fetch` does not see these requests: MSW, and with it `payment-collection-client/testing`, and a fake
 * `fetch`. In tests leave the transport out. OpenTelemetry's instrumentation of undici does see them.
 *
 * @throws ConfigurationError where an option cannot work.
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
  const close = async () => {
    if (used !== dispatcher) await used.close();
  };
  return {
    exchange: (request, answer) => exchange(used, request, answer),
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
