import ky, { NetworkError } from 'ky';
import type { OperationName } from '../api/operations.ts';
import { ConfigurationError } from '../errors.ts';
import type { Fetch, FetchInit, FetchResponse, ResponseSink, Transport } from '../options.ts';
import { isNodesOwnFetch, markOwnConnections } from './own-connections.ts';

const KY_OPTIONS = { retry: 0, timeout: false, throwHttpErrors: false } as const;

/** A framework may put a cache behind fetch, Next.js does, which would answer a charge with the one before it. */
const NO_STORE =
  typeof Request === 'function' && 'cache' in Request.prototype ? ({ cache: 'no-store' } as const) : {};

/** The transport that is used where none is given: through fetch, the caller's or else the global one. */
export function fetchTransport(fetch?: Fetch): Transport {
  const send = fetch ?? globalFetch;
  const exchange: Transport['send'] = async ({ url, method, headers, body, signal }, answer) => {
    const init = { method, headers, body: body ?? null, signal, redirect: 'manual', ...NO_STORE } as const;
    if (method === 'GET') return pumpBody(await send(url, init), answer);
    const singleUse = openSingleUse();
    try {
      await pumpBody(await send(url, { ...init, ...singleUse.init }), answer);
    } finally {
      singleUse.close();
    }
  };
  return { send: fetch ? exchange : markOwnConnections(exchange, isNodesOwnFetch) };
}

/** Address and options go past ky, which would copy and join them again and again: a fifth of the cost of a call. */
const globalFetch: Fetch = (url, init) => {
  // Read before ky's first pause: what was found to be Node's own is what sends.
  const { fetch } = globalThis;
  return ky(url, { ...KY_OPTIONS, fetch: () => fetch(url, init) }).catch((error: unknown) => {
    throw error instanceof NetworkError ? error.cause : error;
  });
};

async function pumpBody(response: FetchResponse, answer: ResponseSink): Promise<void> {
  // A browser hides a redirect's status behind 0.
  answer.onHeaders(response.type === 'opaqueredirect' ? 302 : response.status, response.headers);
  const reader = response.body?.getReader();
  if (!reader) return;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    if (answer.onData(chunk.value)) continue;
    reader.cancel().catch(() => {});
    return;
  }
}

/** The oldest versions on which the tests of the package (`dropped-connections.test.ts`) see each POST sent once. */
const OLDEST = { Bun: '1.1.0', Deno: '2.0.0' } as const;

/** What makes fetch send one request over a connection of its own, until `close`. */
interface SingleUse {
  readonly init: Pick<FetchInit, 'keepalive' | 'client'>;
  close(): void;
}

interface HttpClient {
  close(): void;
}

/** What is used of these runtimes' globals. Either may be missing, or be anything. */
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

/**
 * Called before anything is recorded or sent.
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

/** Compares the numbers alone: a canary of 1.4.0 counts as 1.4.0. */
function isAtLeast(version: string, oldest: string): boolean {
  const numbers = (text: string) => text.split('.').map((part) => Number.parseInt(part, 10));
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const [oldestMajor = 0, oldestMinor = 0, oldestPatch = 0] = numbers(oldest);
  if (major !== oldestMajor) return major > oldestMajor;
  return minor === oldestMinor ? patch >= oldestPatch : minor > oldestMinor;
}
