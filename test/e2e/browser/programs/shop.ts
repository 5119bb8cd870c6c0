/**
 * A shop with one article, on node:http. It takes the customer to the checkout page and back, and believes neither the
 * way back nor a webhook: a verify alone says whether an order is paid.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { PaymentsClient } from 'payment-collection-client';

const payments = new PaymentsClient();
const price = { amount: '25.50', currency: 'GHS' };
/** The payments of its customers, each with whether its order was sent. */
const orders = new Map<string, boolean>();

const server = createServer((request, response) => {
  handle(request, response).catch(() => response.writeHead(500).end());
});
server.listen(Number(process.env.PORT), '127.0.0.1');

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop.test');
  switch (`${request.method} ${pathname}`) {
    case 'GET /': {
      const form = '<form method="post" action="/checkout"><button>Buy</button></form>';
      return sendPage(response, 'A scarf for GHS 25.50', form);
    }
    case 'POST /checkout': {
      const payment = await payments.initialize({ ...price, customer_email: 'ama@example.com' });
      const { reference, checkout_url } = payment;
      orders.set(reference, false);
      // After an error the way back verifies again.
      payments
        .waitForFinalStatus(reference)
        .then(() => fulfil(reference))
        .catch(() => {});
      response.writeHead(303, { location: checkout_url }).end();
      return;
    }
    case 'GET /return': {
      const reference = searchParams.get('reference') ?? '';
      if (!orders.has(reference)) return sendPage(response, 'We know no such order');
      await fulfil(reference);
      return sendPage(response, orders.get(reference) ? 'Thank you' : 'We wait for your payment');
    }
    case 'POST /webhooks': {
      const { data } = JSON.parse(await text(request));
      payments.notify(data.reference);
      response.writeHead(204).end();
      return;
    }
    default:
      response.writeHead(404).end();
  }
}

/** Sends the order of a payment, once and only if it is paid. */
async function fulfil(reference: string): Promise<void> {
  const { status } = await payments.verify(reference, { expect: price });
  if (status === 'success') orders.set(reference, true);
}

function sendPage(response: ServerResponse, heading: string, more = ''): void {
  response.setHeader('content-type', 'text/html');
  response.end(`<!doctype html><title>Shop</title><h1>${heading}</h1>${more}`);
}
