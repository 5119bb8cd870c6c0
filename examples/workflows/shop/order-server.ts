import { createServer, type IncomingMessage, type Server } from 'node:http';
import { chargeOrder, type OrderShop, type ShopResponse, showOrder } from './charge-order.ts';

/**
 * Creates the shop's web server:
 *
 * - `POST /orders/{id}/payment`: the customer presses the button. The order is charged within the request.
 * - `GET /orders/{id}`: the customer's page polls the state of the order.
 * - `POST /webhooks/payments`: the service's webhook.
 */
export function createOrderServer(shop: OrderShop): Server {
  return createServer(async (request, response) => {
    const { status, body, headers } = await route(shop, request).catch((error): ShopResponse => {
      console.error(error);
      return { status: 503, headers: { 'retry-after': '1' }, body: { message: 'Please try again.' } };
    });
    const type = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body));
  });
}

async function route(shop: OrderShop, request: IncomingMessage): Promise<ShopResponse> {
  const { pathname } = new URL(request.url ?? '/', 'http://shop.example');
  const [, id, action] = /^\/orders\/([\w-]+)(?:\/(payment))?$/.exec(pathname) ?? [];
  if (id !== undefined && action === 'payment' && request.method === 'POST') return chargeOrder(shop, id);
  if (id !== undefined && action === undefined && request.method === 'GET') return showOrder(shop, id);
  if (pathname === '/webhooks/payments' && request.method === 'POST') {
    // Do not trust the caller. A notification only makes the payment due for a check.
    await shop.orderPayments.notify(await readText(request));
    return { status: 202, body: { message: 'Thank you.' } };
  }
  return { status: 404, body: { message: 'There is no such page.' } };
}

/** The form of the service's webhooks is not known: `notify` finds the references in any. */
async function readText(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 10_000) break;
  }
  return body;
}
