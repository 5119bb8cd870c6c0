/**
 * For processes on Node that poll a lot: requests through undici's dispatcher, for less CPU than `fetch`.
 *
 * @module payment-collection-client/node
 */

import { Agent, type Dispatcher } from 'undici';
import * as z from 'zod/mini';
import { ConfigurationError } from '../errors.ts';
import { markOwnConnections } from '../http/not-sent.ts';
import type { Transport } from '../options.ts';
import { type OptionsShape, optionalNumber, optionalValue, parseOptions } from '../parse-options.ts';
import { isObject } from '../support/untrusted.ts';
import { dispatch } from './dispatch.ts';

export type { ResponseSink, Transport, TransportRequest } from '../options.ts';

/** What {@link undiciTransport} is made from. */
export interface UndiciTransportOptions {
  /**
   * The maximum number of connections to the service. Further requests wait for a free one, and their timeout counts
   * meanwhile: a POST whose time is over in that queue is not sent, but counts as unknown.
   *
   * @default no limit
   */
  connections?: number | undefined;
  /**
   * A dispatcher of your own, such as undici's `EnvHttpProxyAgent`. You close it. It must not retry a request by itself,
   * and must not follow redirects.
   *
   * Do not let it use HTTP/2: undici then sends a POST again after REFUSED_STREAM and GOAWAY, which the client cannot
   * see. Give it `allowH2: false`, since undici 8 uses HTTP/2 by default. Each request asks for HTTP/1.1, and an `Agent`
   * obeys. A `Pool`, a `Client` and a dispatcher around them do not.
   *
   * Its error proves that nothing was sent only if it names host and port of the base URL. Any other error might come
   * from a proxy or an interceptor, so the outcome is `unknown`.
   *
   * @default an `Agent` of the transport's own, which uses no proxy
   */
  dispatcher?: Dispatcher | undefined;
}

const optionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    connections: optionalNumber(
      (value) => Number.isInteger(value) && value > 0,
      'connections must be a whole number, 1 or more.',
    ),
    dispatcher: optionalValue<Dispatcher>(
      (value) => isObject(value) && typeof Reflect.get(value, 'dispatch') === 'function',
      'dispatcher must be a dispatcher of undici.',
    ),
  } satisfies OptionsShape<UndiciTransportOptions>))();

/** A {@link Transport} with its own connections. Several clients can share it. */
export interface UndiciTransport extends Transport {
  /** Closes its connections after the requests on them have ended. A process can end without it. */
  close(): Promise<void>;
  /** {@link close}, at the end of the scope of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a transport that sends requests through undici's dispatcher, for less CPU than `fetch`: for a process that
 * polls a lot. Outcomes, retries and limits stay those of the client. It is for Node, and tested on Deno 2.9.
 *
 * MSW (so also `payment-collection-client/testing`) and a fake `fetch` do not see these requests. In tests, leave the
 * transport out. OpenTelemetry's instrumentation of undici does see them.
 *
 * @throws {ConfigurationError} if an option cannot work, or if the runtime's undici sends nothing, as on Bun.
 *
 * @example
 * ```ts
 * import { undiciTransport } from 'payment-collection-client/node';
 *
 * const payments = new PaymentsClient({ transport: undiciTransport({ connections: 64 }) });
 * ```
 */
export function undiciTransport(options: UndiciTransportOptions = {}): UndiciTransport {
  const { connections, dispatcher } = parseOptions(optionsSchema, options, {
    notAnObject: 'undiciTransport takes an object, such as { connections: 64 }.',
  });
  if (connections !== undefined && dispatcher !== undefined)
    throw new ConfigurationError(
      'connections is for the Agent that undiciTransport creates: set it on your dispatcher instead.',
    );
  const used = dispatcher ?? createAgent(connections);
  // Bun replaces undici with a stub.
  if (typeof used.dispatch !== 'function')
    throw new ConfigurationError(
      'undiciTransport cannot work here: the undici of this runtime sends nothing. Leave transport out to use fetch.',
    );
  const close = async () => {
    if (used !== dispatcher) await used.close();
  };
  const send: Transport['send'] = (request, sink) => dispatch(used, request, sink);
  return {
    send: dispatcher ? send : markOwnConnections(send, () => true),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** HTTP/1.1, as fetch uses. The timeouts of a request are the client's. */
function createAgent(connections: number | undefined): Agent {
  return new Agent({
    allowH2: false,
    pipelining: 1,
    // The service's Keep-Alive header can shorten it.
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(connections === undefined ? {} : { connections }),
  });
}
