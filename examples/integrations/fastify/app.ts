import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import fastify, { type FastifyInstance } from 'fastify';
import { PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../shop/error-response.ts';
import { findNextUrl, type Order } from '../shop/orders.ts';
import { basketPage, errorPage, orderPage } from '../shop/pages.ts';
import { findReferences, readEmail, readOrderId } from '../shop/parse-request.ts';
import { follow, type Shop } from '../shop/shop.ts';

declare module 'fastify' {
  interface FastifyRequest {
    order: Order | null;
  }
}

/** A checkout with the redirect there and back, on Fastify 5. */
export async function createApp(shop: Shop): Promise<FastifyInstance> {
  const { payments, orders } = shop;
  const app = fastify();
  await app.register(cookie);
  await app.register(formbody);
  app.decorateRequest('order', null);
  app.addHook('onClose', () => payments.close());

  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof PaymentsError)) return reply.send(error);
    const result = toErrorResponse(error);
    if (result.review && request.order) orders.holdForReview(request.order, error.message);
    const page = errorPage(result, request.method === 'GET');
    return reply.code(result.status).headers(result.headers).type('text/html').send(page);
  });

  app.get('/', (_request, reply) =>
    reply.type('text/html').send(basketPage(orders.place('Kente scarf', '25.50'))),
  );

  app.post('/checkout', async (request, reply) => {
    const order = orders.find(readOrderId(request.body));
    if (!order) return reply.redirect('/', 303);
    reply.setCookie('order', order.id, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: isInProduction,
    });
    request.order = order;
    if (order.state !== 'new') return reply.redirect(findNextUrl(order), 303);

    const { id, amount, currency } = order;
    const input = { amount, currency, customer_email: readEmail(request.body) };
    const payment = await payments.initialize(input, { idempotencyKey: id });
    const started = orders.startPayment(order, payment);
    if (started) void follow(shop, started);
    return reply.redirect(payment.checkout_url, 303);
  });

  // Do not trust the URL: check the reference of the customer's own order.
  app.get('/checkout/return', async (request, reply) => {
    const order = orders.find(request.cookies.order);
    if (!order) return reply.redirect('/', 303);
    request.order = order;
    reply.type('text/html');
    if (!order.payment || order.state === 'in_review') return orderPage(order);

    const { amount, currency } = order;
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    return orderPage(orders.applyStatus(order, transaction));
  });

  await app.register(async (webhooks) => {
    webhooks.removeAllContentTypeParsers();
    webhooks.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 10_240 }, (_request, body, done) =>
      done(null, body),
    );
    webhooks.post('/webhooks/payments', (request, reply) => {
      for (const reference of findReferences(request.body)) payments.notify(reference);
      return reply.code(204).send();
    });
  });

  return app;
}

const isInProduction = process.env.NODE_ENV === 'production';
