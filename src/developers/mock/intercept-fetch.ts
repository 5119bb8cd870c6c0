/** A service in memory that responds in place of its address. */
export interface Responder {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** A response of type `error` stands for a connection that breaks. */
  respondTo(request: Request): Promise<Response>;
}

type Fetch = typeof globalThis.fetch;

const listening = new Set<Responder>();

const replacedFetches = new WeakMap<Fetch, Fetch>();

/**
 * Makes `fetch` send the requests for the responder's host to it. Requests to other hosts pass, untouched.
 *
 * It does not start a server of MSW: a process can have only one. A second one silently turns off the first, and a charge
 * would then leave the process.
 *
 * @throws {Error} if another responder listens at this base URL, or if there is no global fetch
 */
export function startListening(responder: Responder): void {
  const { baseUrl } = responder;
  for (const other of listening) {
    if (other === responder || other.baseUrl !== baseUrl) continue;
    throw new Error(
      `Another mock already listens at ${baseUrl}. Close it first, or give each mock a baseUrl of its own.`,
    );
  }
  const current: unknown = globalThis.fetch;
  if (typeof current !== 'function') {
    throw new Error(
      'There is no global fetch, so the mock cannot listen. Use a test environment that has it.',
    );
  }
  listening.add(responder);
  if (!replacedFetches.has(globalThis.fetch)) replaceFetch();
}

/** Undoes {@link startListening}. The last responder puts back the fetch of before. */
export function stopListening(responder: Responder): void {
  listening.delete(responder);
  if (listening.size > 0) return;
  // Another library might have replaced fetch since. What it restores later is ours, which then only passes requests on.
  const before = replacedFetches.get(globalThis.fetch);
  if (before) globalThis.fetch = before;
}

function replaceFetch(): void {
  const before = globalThis.fetch;
  // A Proxy, because a runtime's fetch can have properties of its own, such as Bun's `preconnect`.
  const ours = new Proxy(before, {
    apply: (target, self, args: Parameters<Fetch>) => {
      const url = resolveUrl(args[0]);
      const hosts = url ? [...listening].filter(({ baseUrl }) => isBelow(new URL(baseUrl).origin, url)) : [];
      return url && hosts.length > 0 ? respondAsFetch(hosts, url, args) : Reflect.apply(target, self, args);
    },
  });
  replacedFetches.set(ours, before);
  globalThis.fetch = ours;
}

function resolveUrl(input: Parameters<Fetch>[0]): string | undefined {
  const address = typeof input === 'object' && 'url' in input ? input.url : String(input);
  // A browser resolves an address without a host.
  const base = typeof location === 'undefined' ? undefined : location.href;
  return URL.canParse(address, base) ? new URL(address, base).href : undefined;
}

async function respondAsFetch(
  hosts: readonly Responder[],
  url: string,
  args: Parameters<Fetch>,
): Promise<Response> {
  const request = new Request(...args);
  const { signal } = request;
  signal.throwIfAborted();
  // Of `/api` and `/api/v1`, the longer one is meant.
  const [responder] = hosts
    .filter(({ baseUrl }) => isBelow(baseUrl, url))
    .sort((one, other) => other.baseUrl.length - one.baseUrl.length);
  if (!responder) return refuseOutside(hosts.map(({ baseUrl }) => baseUrl));
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const response = await Promise.race([responder.respondTo(request), aborted.promise]);
    if (response.type !== 'error') return response;
    throw new TypeError('fetch failed', { cause: new Error('The mock broke the connection.') });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

export function isBelow(baseUrl: string, url: string): boolean {
  return url.startsWith(baseUrl) && /^(?:[/?#]|$)/.test(url.slice(baseUrl.length));
}

/**
 * Responds to a request for a host of a mock that is outside of its base URL. It must not reach the real host, because it
 * can have the data of a customer.
 */
export function refuseOutside(baseUrls: readonly string[]): Response {
  const message = `The mock only responds below ${baseUrls.join(' and ')}. Nothing was sent.`;
  return Response.json({ status: false, message }, { status: 404 });
}
