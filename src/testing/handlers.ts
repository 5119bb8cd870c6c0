import type { HttpHandler } from 'msw';
import { http } from './msw.ts';

/** MSW's handlers for everything below a base URL: what is not of the service's is refused, not let through. */
export function handlersFor(baseUrl: string, handle: (request: Request) => Promise<Response>): HttpHandler[] {
  // A pattern: as a path, a port or an IPv6 host would be read as parameters.
  const below = new RegExp(`^${baseUrl.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?:[/?#]|$)`);
  return [
    http.all(below, async ({ request }) => {
      const response: Response | undefined = await handle(request);
      // MSW takes no response for leave to send the request to whoever has that address.
      return response ?? Response.error();
    }),
  ];
}
