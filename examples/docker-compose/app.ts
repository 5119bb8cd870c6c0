import { createServer, type IncomingMessage, type Server } from 'node:http';
import { networks } from 'payment-collection-client';
import type { OrderStatus } from 'payment-collection-client/orders';
import { explainError } from './explain-error.ts';
import type { Order } from './orders.ts';
import { basketPage, messagePage, orderPage } from './pages.ts';
import { orderPayments, orders, pool } from './payments.ts';

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
      return chargePhone(await readForm(request));
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

/** A press of a button: however often, and whichever of the two, an order has one payment under way. */
type Press = (order: Order, form: URLSearchParams) => Promise<OrderStatus>;

async function pay(form: URLSearchParams, press: Press): Promise<ShopResponse> {
  const order = await orders.find(form.get('order') ?? '');
  if (!order) return redirect('/');
  const cookie = { 'set-cookie': `order=${order.id}; Path=/; HttpOnly; SameSite=Lax` };
  const pressed = await press(order, form);
  if (pressed.state === 'unpaid' && pressed.error) {
    console.error(`The payment of ${order.id} did not start: ${pressed.error.code}`);
    const { status, message } = explainError(pressed.error);
    return { status, headers: cookie, body: messagePage(message) };
  }
  const isOwn = pressed.state === 'processing' && !pressed.differs;
  return redirect((isOwn && pressed.payment.checkout_url) || '/order', cookie);
}

async function startCheckout({ id, amount, currency }: Order, form: URLSearchParams): Promise<OrderStatus> {
  const customer_email = form.get('customer_email') ?? '';
  return await orderPayments.checkout(id, { amount, currency, customer_email });
}

async function chargePhone(form: URLSearchParams): Promise<ShopResponse> {
  const network = networks.find((name) => name === form.get('network'));
  if (!network) return { status: 400, body: messagePage(`Please choose a network: ${networks.join(', ')}.`) };
  const customer_email = form.get('customer_email') ?? '';
  const phone = form.get('phone') ?? '';
  return pay(form, ({ id, amount, currency }) =>
    orderPayments.charge(id, { amount, currency, customer_email, phone, network }),
  );
}

/** Shows the order of the customer's own cookie. No request is sent to the service. */
async function showOrder(request: IncomingMessage): Promise<ShopResponse> {
  const order = await findOwnOrder(request);
  if (!order) return redirect('/');
  return { status: 200, body: orderPage(order, await orderPayments.read(order.id)) };
}

/** The customer comes back from the checkout page. The URL is not trusted: it only makes a payment due for a check. */
async function handleReturn({ url = '/' }: IncomingMessage): Promise<ShopResponse> {
  await orderPayments.notify(new URL(url, 'http://shop.example').searchParams);
  return redirect('/order');
}

async function findOwnOrder({ headers }: IncomingMessage): Promise<Order | undefined> {
  const [, id = ''] = /(?:^|; )order=([\w-]+)/.exec(headers.cookie ?? '') ?? [];
  return orders.find(id);
}

/** The service's webhook. Its form and its sender are not known, so it only makes a payment due for a check. */
async function handleWebhook(text: string): Promise<ShopResponse> {
  await orderPayments.notify(text);
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
