import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import fastify, { type FastifyInstance } from 'fastify';
import { basketPage, errorPage, orderPage } from '../shop/pages.ts';
import { readEmail, readOrderId } from '../shop/parse-request.ts';
import { respondToPress } from '../shop/respond.ts';
import type { Shop } from '../shop/shop.ts';

/** A checkout with the redirect there and back, on Fastify 5. */
export async function createApp(shop: Shop): Promise<FastifyInstance> {
  const { orderPayments, orders } = shop;
  const app = fastify();
  await app.register(cookie);
  await app.register(formbody);
  app.addHook('onClose', () => shop.close());

  app.get('/', (_request, reply) =>
    reply.type('text/html').send(basketPage(orders.place('Kente scarf', '25.50'))),
  );

  app.post('/checkout', async (request, reply) => {
    const order = orders.find(readOrderId(request.body));
    if (!order) return reply.redirect('/', 303);
    const { id, amount, currency } = order;
    reply.setCookie('order', id, { path: '/', httpOnly: true, sameSite: 'lax', secure: isInProduction });
    const input = { amount, currency, customer_email: readEmail(request.body) };
    const next = await respondToPress(orderPayments.checkout(id, input));
    if ('url' in next) return reply.redirect(next.url, 303);
    return reply.code(next.status).headers(next.headers).type('text/html').send(errorPage(next));
  });

  app.get('/checkout/return', async (request, reply) => {
    const order = orders.find(request.cookies.order);
    if (!order) return reply.redirect('/', 303);
    // Do not trust the URL: it only makes a payment due for a check.
    await orderPayments.notify(request.query);
    return reply.type('text/html').send(orderPage(order, await orderPayments.read(order.id)));
  });

  app.post('/webhooks/payments', { bodyLimit: 10_240 }, async (request, reply) => {
    await orderPayments.notify(request.body);
    return reply.code(204).send();
  });

  return app;
}

const isInProduction = process.env.NODE_ENV === 'production';
