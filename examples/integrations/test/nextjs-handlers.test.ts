import { NextRequest } from 'next/server';
import { GET } from '../nextjs/app/api/checkout/return/route.ts';
import { POST } from '../nextjs/app/api/checkout/route.ts';
import { POST as receiveWebhook } from '../nextjs/app/api/webhooks/payments/route.ts';
import { basketPage } from '../shop/pages.ts';
import { describeCheckout } from './checkout-scenarios.ts';
import { listen } from './listen.ts';

const routes: Record<string, (request: NextRequest) => Promise<Response>> = {
  'POST /api/checkout': POST,
  'GET /api/checkout/return': GET,
  'POST /api/webhooks/payments': receiveWebhook,
};

/** Calls the handlers as Next does, without Next. The basket's page needs React, so a plain page replaces it. */
describeCheckout(
  'The handlers of the Next.js checkout',
  async (shop) => {
    globalThis.shop = shop;
    return listen(async (request, response) => {
      const url = `http://${request.headers.host}${request.url}`;
      const handler = routes[`${request.method} ${new URL(url).pathname}`];
      const headers = new Headers({
        'content-type': request.headers['content-type'] ?? '',
        cookie: request.headers.cookie ?? '',
      });
      const { method = 'GET' } = request;
      const body = method === 'POST' ? await readAll(request) : null;
      const result = handler
        ? await handler(new NextRequest(url, { method, headers, body }))
        : new Response(basketPage(shop.orders.place('Kente scarf', '25.50')));
      response.writeHead(result.status, [...result.headers].flat());
      response.end(await result.text());
    });
  },
  { checkout: '/api/checkout', returnPath: '/api/checkout/return', webhook: '/api/webhooks/payments' },
);

async function readAll(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}
