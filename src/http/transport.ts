import ky, { NetworkError } from 'ky';
import type { OperationName } from '../api/operations.ts';
import { ConfigurationError } from '../errors.ts';
import type {
  Fetch,
  FetchInit,
  FetchResponse,
  ResponseSink,
  Transport,
  TransportRequest,
} from '../options.ts';
import { isNodesOwnFetch, markOwnConnections } from './not-sent.ts';

/**
 * Creates the transport of a client that has no other one.
 *
 * @param fetch the caller's own, which is called directly. The default is the global fetch, through ky.
 */
export function fetchTransport(fetch?: Fetch): Transport {
  const sendRequest = fetch ? callDirectly(fetch) : callThroughKy();
  const send: Transport['send'] = async (request, sink) => {
    if (request.method === 'GET') return readBody(await sendRequest(request), sink);
    const singleUse = openSingleUse();
    try {
      await readBody(await sendRequest(request, singleUse.init), sink);
    } finally {
      singleUse.close();
    }
  };
  return { send: fetch ? send : markOwnConnections(send, isNodesOwnFetch) };
}

type SendRequest = (request: TransportRequest, connection?: SingleUse['init']) => Promise<FetchResponse>;

/** A framework such as Next.js can cache fetch, and would then return the response to an earlier charge. */
const NO_STORE =
  typeof Request === 'function' && 'cache' in Request.prototype ? ({ cache: 'no-store' } as const) : {};

/** A redirect is never followed: neither the key nor a charge goes to another host. */
const SHARED_INIT = { redirect: 'manual', ...NO_STORE } as const;

/**
 * Retries, timeouts and errors stay those of the client. ky's retry would send a replaced key again, its timeout ends
 * before the body, and its errors read bodies up to 10 MiB.
 */
function callThroughKy(): SendRequest {
  const http = ky.create({ retry: 0, timeout: false, throwHttpErrors: false, ...SHARED_INIT });
  return ({ url, method, headers, body, signal }, connection) => {
    // Read before ky's first pause: the fetch that was found to be Node's own is the one that sends.
    const { fetch } = globalThis;
    return http(url, {
      // ky copies its options once for each of them, so a GET is given only what it needs.
      ...(body === undefined ? {} : { method, body }),
      headers,
      // ky would combine the signal with its own by AbortSignal.any, which costs a tenth of a request.
      // The init repeats what the Request has: Bun 1.1 takes only the init's `redirect`, and would follow a redirect.
      fetch: (request, init) => fetch(request, { ...init, ...SHARED_INIT, signal, ...connection }),
    }).catch((error: unknown) => {
      throw error instanceof NetworkError ? error.cause : error;
    });
  };
}

/** Without ky, because a fetch such as undici's refuses the runtime's `Request`, and its response can be of any class. */
function callDirectly(fetch: Fetch): SendRequest {
  return ({ url, method, headers, body = null, signal }, connection) =>
    fetch(url, { method, headers, body, signal, ...SHARED_INIT, ...connection });
}

async function readBody(response: FetchResponse, sink: ResponseSink): Promise<void> {
  // A browser hides the status of a redirect behind 0.
  sink.onHeaders(response.type === 'opaqueredirect' ? 302 : response.status, response.headers);
  const reader = response.body?.getReader();
  if (!reader) return;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    if (sink.onData(chunk.value)) continue;
    reader.cancel().catch(() => {});
    return;
  }
}

/** What makes fetch send one request over a connection of its own, until `close`. */
interface SingleUse {
  readonly init: Pick<FetchInit, 'keepalive' | 'client'>;
  close(): void;
}

interface HttpClient {
  close(): void;
}

/** What is used of these runtimes' globals. Either can be missing, or be anything. */
interface RuntimeGlobals {
  Bun?: { version?: unknown } | null;
  Deno?: {
    version?: { deno?: unknown } | null;
    createHttpClient?: (options: { poolMaxIdlePerHost: number; http2: boolean }) => HttpClient;
  } | null;
}

const runtimeGlobals: RuntimeGlobals & typeof globalThis = globalThis;

/**
 * Deno's fetch, and Bun's before 1.3.14, send a POST again by themselves when a reused connection drops without a
 * response. The first POST might have arrived, so each POST gets a connection that nothing else uses. HTTP/2 is off
 * because Deno also repeats a POST after REFUSED_STREAM.
 */
function openSingleUse(): SingleUse {
  const { Bun, Deno } = runtimeGlobals;
  if (typeof Bun?.version === 'string') return { init: { keepalive: false }, close: () => {} };
  const client = Deno?.createHttpClient?.({ poolMaxIdlePerHost: 0, http2: false });
  return client ? { init: { client }, close: () => client.close() } : { init: {}, close: () => {} };
}

/** The oldest versions on which the tests of the package (`dropped-connections.test.ts`) see each POST sent once. */
const OLDEST = { Bun: '1.1.0', Deno: '2.0.0' } as const;

/**
 * Refuses a POST before anything is recorded or sent.
 *
 * @throws {ConfigurationError} if this runtime is too old to send a POST once.
 */
export function refuseOldRuntime(operation: OperationName): void {
  const { Bun, Deno } = runtimeGlobals;
  const runtimes = [
    ['Bun', Bun?.version, true],
    ['Deno', Deno?.version?.deno, typeof Deno?.createHttpClient === 'function'],
  ] as const;
  for (const [runtime, version, canSendOnce] of runtimes) {
    if (typeof version !== 'string' || (canSendOnce && isAtLeast(version, OLDEST[runtime]))) continue;
    throw new ConfigurationError(
      `${runtime} ${version} might send a POST twice, so nothing was sent. Use ${runtime} ${OLDEST[runtime]} or later.`,
      { operation },
    );
  }
}

/** Compares only the numbers: a canary of 1.4.0 counts as 1.4.0. */
function isAtLeast(version: string, oldest: string): boolean {
  const numbers = (text: string) => text.split('.').map((part) => Number.parseInt(part, 10));
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const [oldestMajor = 0, oldestMinor = 0, oldestPatch = 0] = numbers(oldest);
  if (major !== oldestMajor) return major > oldestMajor;
  return minor === oldestMinor ? patch >= oldestPatch : minor > oldestMinor;
}
