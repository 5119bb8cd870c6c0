import { NextRequest, type NextResponse } from 'next/server';
import { GET } from '../nextjs/app/api/checkout/return/route.ts';
import { POST } from '../nextjs/app/api/checkout/route.ts';
import { basketPage } from '../shop/pages.ts';
import { checkoutScenarios } from './checkout-scenarios.ts';
import { listening } from './listening.ts';

const routes: Record<string, (request: NextRequest) => Promise<NextResponse>> = {
  'POST /api/checkout': POST,
  'GET /api/checkout/return': GET,
};

/** The handlers as Next calls them, without Next: the page of the basket is React's, so a plain one stands in for it. */
checkoutScenarios(
  'The handlers of the Next.js checkout',
  async (shop) => {
    globalThis.shop = shop;
    return listening(async (request, response) => {
      const url = `http://${request.headers.host}${request.url}`;
      const handler = routes[`${request.method} ${new URL(url).pathname}`];
      const headers = new Headers({
        'content-type': request.headers['content-type'] ?? '',
        cookie: request.headers.cookie ?? '',
      });
      const { method = 'GET' } = request;
      const body = method === 'POST' ? await textOf(request) : null;
      const answer = handler
        ? await handler(new NextRequest(url, { method, headers, body }))
        : new Response(basketPage(shop.orders.place('Kente scarf', '25.50')));
      response.writeHead(answer.status, [...answer.headers].flat());
      response.end(await answer.text());
    });
  },
  { checkout: '/api/checkout', comeBack: '/api/checkout/return', webhook: null },
);

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}
