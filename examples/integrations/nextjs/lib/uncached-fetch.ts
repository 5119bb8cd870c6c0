/**
 * Next keeps answers of `fetch` where a page asks for it, those of a POST too: a payment that another order started, or
 * a status that was true an hour ago. `no-store` keeps most of them out; `force-cache` outdoes it, so each request also has
 * a header of its own.
 *
 * It takes the body out of the request, since Next would send it as a stream, without its length.
 */
export const uncachedFetch: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const { url, method, headers, redirect, signal } = request;
  headers.set('x-request-id', crypto.randomUUID());
  const body = method === 'GET' ? null : await request.text();
  return fetch(url, { method, headers, body, redirect, signal, cache: 'no-store' });
};
