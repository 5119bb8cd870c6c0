import { chargeOrder, type ShopResponse, showOrder } from '../shop/charge-order.ts';
import type { NewOrder } from '../shop/order.ts';
import type { Env } from './env.ts';
import { openShop } from './payments.ts';

/** How long a sweep takes at most, in milliseconds: Cloudflare lets work go on for 30 s after a response. */
const BUDGET = 20_000;

/**
 * - `POST /orders`: stands for your checkout. Take the amount from your own prices.
 * - `POST /orders/{id}/payment`: the customer presses the button. The order is charged within the request.
 * - `GET /orders/{id}`: the customer's page polls the state of the order.
 * - `POST /webhooks/payments`: the service's webhook.
 */
export default {
  async fetch(request, env, context) {
    const { status, body, headers } = await route(request, env, context);
    return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } });
  },

  /** Checks what is due. */
  async scheduled(_controller, env) {
    await openShop(env).orderPayments.sweep({ budget: BUDGET });
  },
} satisfies ExportedHandler<Env>;

async function route(request: Request, env: Env, context: ExecutionContext): Promise<ShopResponse> {
  const shop = openShop(env);
  const { pathname } = new URL(request.url);
  const [, id, action] = /^\/orders\/([\w-]+)(?:\/(payment))?$/.exec(pathname) ?? [];
  if (id !== undefined && action === 'payment' && request.method === 'POST') return chargeOrder(shop, id);
  if (id !== undefined && action === undefined && request.method === 'GET') return showOrder(shop, id);
  if (pathname === '/orders' && request.method === 'POST') {
    await shop.orders.place(await request.json<NewOrder>());
    return { status: 201, body: { message: 'Your order is placed.' } };
  }
  if (pathname === '/webhooks/payments' && request.method === 'POST') {
    // Do not trust the caller. A notification only makes the payment due for a check, which follows the response.
    await shop.orderPayments.notify(await request.json().catch(() => undefined));
    context.waitUntil(shop.orderPayments.sweep({ budget: BUDGET }));
    return { status: 202, body: { message: 'Thank you.' } };
  }
  return { status: 404, body: { message: 'There is no such page.' } };
}
