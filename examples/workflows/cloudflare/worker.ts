import type { Env } from './env.ts';
import { NOTIFICATION } from './order-workflow.ts';
import { type NewOrder, Orders } from './orders.ts';

export { OrderWorkflow } from './order-workflow.ts';

/**
 * - `POST /orders`: stands for your checkout. Take the amount from your own prices.
 * - `GET /orders/{id}`: the customer's page polls the state of the order.
 * - `POST /webhooks/payments`: the service's webhook.
 */
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const [, id] = /^\/orders\/([\w-]+)$/.exec(pathname) ?? [];
    if (request.method === 'POST' && pathname === '/orders')
      return placeOrder(await request.json<NewOrder>(), env);
    if (request.method === 'GET' && id !== undefined) return showOrder(id, env);
    if (request.method === 'POST' && pathname === '/webhooks/payments') return notify(request, env);
    return Response.json({ message: 'There is no such page.' }, { status: 404 });
  },

  /** An order might be stored and not submitted: the request was interrupted in between. */
  async scheduled(_controller, env) {
    for (const id of await new Orders(env.DB).listPlaced()) await submitOrder(id, env);
  },
} satisfies ExportedHandler<Env>;

async function placeOrder(order: NewOrder, env: Env): Promise<Response> {
  await new Orders(env.DB).place(order);
  await submitOrder(order.id, env);
  return Response.json({ id: order.id }, { status: 202 });
}

/** Starts the order's workflow. The id of its instance is the order's: an order that is placed twice is one workflow. */
async function submitOrder(id: string, env: Env): Promise<void> {
  try {
    await env.ORDER_WORKFLOW.create({ id });
  } catch (error) {
    // Cloudflare refuses a second instance with the same id. `get` fails if there is none.
    await env.ORDER_WORKFLOW.get(id).catch(() => {
      throw error;
    });
  }
}

async function showOrder(id: string, env: Env): Promise<Response> {
  const order = await new Orders(env.DB).find(id);
  if (!order) return Response.json({ message: 'There is no such order.' }, { status: 404 });
  return Response.json({ state: order.state }, { headers: { 'cache-control': 'no-store' } });
}

/** Do not trust the caller. A notification only brings the next check forward. */
async function notify(request: Request, env: Env): Promise<Response> {
  const id = await new Orders(env.DB).countNotification(await readReference(request));
  if (id !== null) {
    const instance = await env.ORDER_WORKFLOW.get(id);
    await instance.sendEvent({ type: NOTIFICATION, payload: {} });
  }
  return Response.json({ message: 'Thank you.' }, { status: 202 });
}

/** The form of the service's webhooks is not known. If this guess is wrong, only the notification is lost. */
async function readReference(request: Request): Promise<string> {
  try {
    return String(Object(await request.json()).reference);
  } catch {
    return '';
  }
}
