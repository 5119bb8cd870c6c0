/**
 * A shop with one article, on node:http. It takes the customer to the checkout page and back, and believes neither the
 * way back nor a webhook: `verify` alone says whether an order is paid.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { PaymentsClient, type Transaction } from 'payment-collection-client';

const payments = new PaymentsClient();
const price = { amount: '25.50', currency: 'GHS' };
/** The result of each open or final payment, by its reference. */
const results = new Map<string, Promise<Transaction>>();

const headings: Record<string, string> = {
  success: 'Thank you',
  failed: 'Your payment failed',
  abandoned: 'You left without paying',
};

const server = createServer(async (request, response) => {
  const sendPage = (heading: string, more = '') =>
    response
      .setHeader('content-type', 'text/html')
      .end(`<!doctype html><title>Shop</title><h1>${heading}</h1>${more}`);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop.test');
  switch (`${request.method} ${pathname}`) {
    case 'GET /':
      sendPage('A scarf for GHS 25.50', '<form method="post" action="/checkout"><button>Buy</button></form>');
      break;
    case 'POST /checkout': {
      const payment = await payments.initialize({ ...price, customer_email: 'ama@example.com' });
      const { reference, checkout_url } = payment;
      results.set(reference, payments.waitForFinalStatus(reference, { expect: price }));
      response.writeHead(303, { location: checkout_url }).end();
      break;
    }
    case 'GET /return': {
      const result = await results.get(searchParams.get('reference') ?? '');
      sendPage((result && headings[result.status]) ?? 'We know no such order');
      break;
    }
    case 'POST /webhooks':
      payments.notify(await readReference(request));
      response.writeHead(204).end();
      break;
    default:
      response.writeHead(404).end();
  }
});
server.listen(Number(process.env.PORT), '127.0.0.1');

async function readReference(request: IncomingMessage): Promise<string> {
  const { data } = JSON.parse(await text(request));
  return data.reference;
}
