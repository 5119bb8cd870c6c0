import ky, { NetworkError } from 'ky';
import type { Fetch, FetchResponse, ResponseSink, Transport } from '../options.ts';
import { isNodesOwnFetch, markOwnConnections } from './own-connections.ts';
import { openSingleUse } from './single-use.ts';

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
