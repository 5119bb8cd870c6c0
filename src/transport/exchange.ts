import ky, { NetworkError } from 'ky';
import type { Transport, TransportAnswer, TransportRequest } from '../options.ts';

const ONCE = { retry: 0, timeout: false, throwHttpErrors: false } as const;

/** A framework may put a cache behind fetch, Next.js does, which would answer a charge with the one before it. */
const UNCACHED =
  typeof Request === 'function' && 'cache' in Request.prototype ? ({ cache: 'no-store' } as const) : {};

/** The transport that is used where none is given: through fetch, the caller's or else the global one. */
export function fetchTransport(own: typeof globalThis.fetch | undefined): Transport {
  const respond = own
    ? (request: TransportRequest) =>
        ky(request.url, { ...ONCE, ...requestOf(request), signal: request.signal, fetch: own })
    : byGlobalFetch;
  return {
    exchange: async (request, answer) => {
      const response = await respond(request).catch((error: unknown) => {
        throw error instanceof NetworkError ? error.cause : error;
      });
      await take(response, answer);
    },
  };
}

/** Headers and signal go past ky, which would copy and join them again and again: an eighth of the cost of a call. */
function byGlobalFetch(request: TransportRequest): Promise<Response> {
  const { headers: _, ...others } = requestOf(request);
  const { headers, signal } = request;
  return ky(request.url, {
    ...ONCE,
    ...others,
    fetch: (ready) => globalThis.fetch(ready, { headers, signal }),
  });
}

function requestOf({ method, headers, body }: TransportRequest) {
  return {
    method,
    headers,
    redirect: 'manual',
    ...UNCACHED,
    ...(body === undefined ? {} : { body }),
  } as const;
}

async function take(response: Response, answer: TransportAnswer): Promise<void> {
  // A browser hides a redirect's status behind 0.
  answer.head(response.type === 'opaqueredirect' ? 302 : response.status, response.headers);
  const reader = response.body?.getReader();
  if (!reader) return;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    if (answer.piece(chunk.value)) continue;
    reader.cancel().catch(() => {});
    return;
  }
}
