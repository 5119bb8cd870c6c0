import cookieParser from 'cookie-parser';
import express, { type Express } from 'express';
import { basketPage, errorPage, orderPage } from '../shop/pages.ts';
import { readEmail, readOrderId } from '../shop/parse-request.ts';
import { respondToPress } from '../shop/respond.ts';
import type { Shop } from '../shop/shop.ts';

/** A checkout with the redirect there and back, on Express 5. */
export function createApp({ orderPayments, orders }: Shop): Express {
  const app = express();
  app.use(cookieParser());

  app.get('/', (_request, response) => {
    response.send(basketPage(orders.place('Kente scarf', '25.50')));
  });

  app.post('/checkout', express.urlencoded(), async (request, response) => {
    const order = orders.find(readOrderId(request.body));
    if (!order) return response.redirect(303, '/');
    response.cookie('order', order.id, { httpOnly: true, sameSite: 'lax', secure: isInProduction(app) });
    const { id, amount, currency } = order;
    const input = { amount, currency, customer_email: readEmail(request.body) };
    const next = await respondToPress(orderPayments.checkout(id, input));
    if ('url' in next) return response.redirect(303, next.url);
    response.status(next.status).set(next.headers).send(errorPage(next));
  });

  app.get('/checkout/return', async (request, response) => {
    const order = orders.find(request.cookies.order);
    if (!order) return response.redirect(303, '/');
    // Do not trust the URL: it only makes a payment due for a check.
    await orderPayments.notify(request.query);
    response.send(orderPage(order, await orderPayments.read(order.id)));
  });

  app.post('/webhooks/payments', express.json({ limit: '10kb' }), async (request, response) => {
    await orderPayments.notify(request.body);
    response.sendStatus(204);
  });

  return app;
}

const isInProduction = (app: Express) => app.get('env') === 'production';
