import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import fastify, { type FastifyInstance } from 'fastify';
import { PaymentsError } from 'payment-collection-client';
import { answerTo } from '../shop/answers.ts';
import { emailIn, orderIdIn, referencesIn } from '../shop/incoming.ts';
import { nextAddress, type Order } from '../shop/orders.ts';
import { answerPage, basketPage, orderPage } from '../shop/pages.ts';
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
    const answer = answerTo(error);
    if (answer.review && request.order) orders.hold(request.order, error.message);
    const page = answerPage(answer, request.method === 'GET');
    return reply.code(answer.status).headers(answer.headers).type('text/html').send(page);
  });

  app.get('/', (_request, reply) =>
    reply.type('text/html').send(basketPage(orders.place('Kente scarf', '25.50'))),
  );

  app.post('/checkout', async (request, reply) => {
    const order = orders.find(orderIdIn(request.body));
    if (!order) return reply.redirect('/', 303);
    reply.setCookie('order', order.id, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: isInProduction,
    });
    request.order = order;
    if (order.state !== 'new') return reply.redirect(nextAddress(order), 303);

    const { id, amount, currency } = order;
    const input = { amount, currency, customer_email: emailIn(request.body) };
    const payment = await payments.initialize(input, { idempotencyKey: id });
    const started = orders.paymentStarted(order, payment);
    if (started) void follow(shop, started);
    return reply.redirect(payment.checkout_url, 303);
  });

  // Whatever the address holds, it is the order's own reference that is asked about.
  app.get('/checkout/return', async (request, reply) => {
    const order = orders.find(request.cookies.order);
    if (!order) return reply.redirect('/', 303);
    request.order = order;
    reply.type('text/html');
    if (!order.payment || order.state === 'in_review') return orderPage(order);

    const { amount, currency } = order;
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    return orderPage(orders.conclude(order, transaction));
  });

  await app.register(async (webhooks) => {
    webhooks.removeAllContentTypeParsers();
    webhooks.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 10_240 }, (_request, body, done) =>
      done(null, body),
    );
    webhooks.post('/webhooks/payments', (request, reply) => {
      for (const reference of referencesIn(request.body)) payments.notify(reference);
      return reply.code(204).send();
    });
  });

  return app;
}

const isInProduction = process.env.NODE_ENV === 'production';
