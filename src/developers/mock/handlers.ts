import type { HttpHandler } from 'msw';
import { isBelow, type Responder, refuseOutside } from './intercept-fetch.ts';
import { loadMsw } from './msw.ts';

/**
 * Creates MSW's handlers for every request to the host of a base URL. None of them reaches the real host, and MSW prints
 * none of them.
 *
 * @throws {Error} if MSW cannot be loaded
 */
export function createHandlers({ baseUrl, respondTo: respond }: Responder): HttpHandler[] {
  const { http } = findMsw();
  const { origin } = new URL(baseUrl);
  // A pattern, because MSW would read a port or an IPv6 host in a path as parameters.
  const host = new RegExp(`^${origin.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?:[/?#]|$)`);
  return [
    http.all(host, async ({ request }) => {
      if (!isBelow(baseUrl, request.url)) return refuseOutside([baseUrl]);
      const response: Response | undefined = await respond(request);
      // Without a response, MSW would send the request to the real address.
      return response ?? Response.error();
    }),
  ];
}

function findMsw(): typeof import('msw') {
  try {
    return loadMsw();
  } catch (cause) {
    throw new Error(
      'mock.handlers needs MSW 2.10 or later, or 3, and it cannot be loaded. Run npm install --save-dev msw, or use mock.listen(), which needs no MSW.',
      { cause },
    );
  }
}
