import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Network, PaymentsError } from 'payment-collection-client';
import { explainError } from './explain-error.ts';
import type { Order } from './orders.ts';
import { basketPage, messagePage, orderPage } from './pages.ts';
import { followUps, orders, payments, pool } from './payments.ts';

interface ShopResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Creates the shop's web server. */
export function createShopServer(): Server {
  return createServer(async (request, response) => {
    const { status, headers, body } = await route(request).catch((error): ShopResponse => {
      console.error(error);
      return { status: 503, body: messagePage('The shop has a problem. Please try again.') };
    });
    const type = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
    response.writeHead(status, { ...type, ...headers }).end(body);
  });
}

async function route(request: IncomingMessage): Promise<ShopResponse> {
  const { pathname } = new URL(request.url ?? '/', 'http://shop.example');
  switch (`${request.method} ${pathname}`) {
    case 'GET /': {
      const order = await orders.place('Kente scarf', '25.50', 'GHS');
      return { status: 200, body: basketPage(order) };
    }
    case 'POST /checkout':
      return pay(await readForm(request), startCheckout);
    case 'POST /charge':
      return pay(await readForm(request), chargePhone);
    case 'GET /checkout/return':
      return handleReturn(request);
    case 'GET /order':
      return showOrder(request);
    case 'POST /webhooks/payments':
      return handleWebhook(await readBody(request));
    case 'GET /health':
      await pool.query('SELECT 1');
      return { status: 200, body: 'ok' };
    default:
      return { status: 404, body: messagePage('There is no such page.') };
  }
}

/** Starts the payment of an order. Returns where the customer continues. */
type StartPayment = (order: Order, form: URLSearchParams) => Promise<string>;

/** Starts one payment at most for an order, however often the customer presses a button. */
async function pay(form: URLSearchParams, start: StartPayment): Promise<ShopResponse> {
  const order = await orders.find(form.get('order') ?? '');
  if (!order) return redirect('/');
  const cookie = { 'set-cookie': `order=${order.id}; Path=/; HttpOnly; SameSite=Lax` };
  if (order.state !== 'new') return redirect('/order', cookie);
  try {
    return redirect(await start(order, form), cookie);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    console.error(`The payment of ${order.id} failed: ${error.code}, ${error.outcome}`);
    const { status, message, needsReview } = explainError(error);
    // A payment might exist. If the process dies here, the follow-ups call onAttention, and the order is held too.
    if (needsReview) await orders.holdForReview(order.id, error.code);
    return { status, headers: cookie, body: messagePage(message) };
  }
}

async function startCheckout({ id, amount, currency }: Order, form: URLSearchParams): Promise<string> {
  const input = { amount, currency, customer_email: form.get('customer_email') ?? '' };
  const payment = await payments.initialize(input, { idempotencyKey: id });
  await orders.startPayment(id, payment);
  return payment.checkout_url;
}

async function chargePhone({ id, amount, currency }: Order, form: URLSearchParams): Promise<string> {
  const customer_email = form.get('customer_email') ?? '';
  const phone = form.get('phone') ?? '';
  const network = readNetwork(form.get('network'));
  const input = { amount, currency, customer_email, phone, network };
  const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
  await orders.startPayment(id, { reference });
  return '/order';
}

function readNetwork(value: string | null): Network {
  return value === 'telecel' || value === 'airteltigo' ? value : 'mtn';
}

/** Shows the order of the customer's own cookie. No request is sent to the service. */
async function showOrder(request: IncomingMessage): Promise<ShopResponse> {
  const order = await findOwnOrder(request);
  return order ? { status: 200, body: orderPage(order) } : redirect('/');
}

/** The customer comes back from the checkout page. The URL is not trusted: it only makes the shop check now. */
async function handleReturn(request: IncomingMessage): Promise<ShopResponse> {
  const order = await findOwnOrder(request);
  if (order?.reference) await followUps.notify(order.reference);
  return redirect(order ? '/order' : '/');
}

async function findOwnOrder({ headers }: IncomingMessage): Promise<Order | undefined> {
  const [, id = ''] = /(?:^|; )order=([\w-]+)/.exec(headers.cookie ?? '') ?? [];
  return orders.find(id);
}

/** The service's webhook. Its form and its sender are not known, so it only makes a payment due for a check. */
async function handleWebhook(text: string): Promise<ShopResponse> {
  const references = new Set(text.match(/TXN-[\w.-]{1,251}/g));
  await Promise.all([...references].slice(0, 10).map((reference) => followUps.notify(reference)));
  return { status: 204 };
}

function redirect(location: string, headers: Readonly<Record<string, string>> = {}): ShopResponse {
  return { status: 303, headers: { ...headers, location } };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await readBody(request));
}

const MAX_BODY_CHARS = 10_000;

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BODY_CHARS) throw new Error(`A body has more than ${MAX_BODY_CHARS} characters.`);
  }
  return text;
}
