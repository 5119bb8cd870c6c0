import cookieParser from 'cookie-parser';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { PaymentsError } from 'payment-collection-client';
import { answerTo } from '../shop/answers.ts';
import { emailIn, orderIdIn, referencesIn } from '../shop/incoming.ts';
import { nextAddress } from '../shop/orders.ts';
import { answerPage, basketPage, orderPage } from '../shop/pages.ts';
import { follow, type Shop } from '../shop/shop.ts';

/** A checkout with the redirect there and back, on Express 5. */
export function createApp(shop: Shop): Express {
  const { payments, orders } = shop;
  const app = express();
  app.use(cookieParser());

  app.get('/', (_request, response) => {
    response.send(basketPage(orders.place('Kente scarf', '25.50')));
  });

  app.post('/checkout', express.urlencoded(), async (request, response) => {
    const order = orders.find(orderIdIn(request.body));
    if (!order) return response.redirect(303, '/');
    response.cookie('order', order.id, { httpOnly: true, sameSite: 'lax', secure: isInProduction(app) });
    response.locals.order = order;
    if (order.state !== 'new') return response.redirect(303, nextAddress(order));

    const { id, amount, currency } = order;
    const input = { amount, currency, customer_email: emailIn(request.body) };
    const payment = await payments.initialize(input, { idempotencyKey: id });
    const started = orders.paymentStarted(order, payment);
    if (started) void follow(shop, started);
    response.redirect(303, payment.checkout_url);
  });

  // Whatever the address holds, it is the order's own reference that is asked about.
  app.get('/checkout/return', async (request, response) => {
    const order = orders.find(request.cookies.order);
    if (!order) return response.redirect(303, '/');
    response.locals.order = order;
    if (!order.payment || order.state === 'in_review') return response.send(orderPage(order));

    const { amount, currency } = order;
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    response.send(orderPage(orders.conclude(order, transaction)));
  });

  app.post('/webhooks/payments', express.text({ type: () => true, limit: '10kb' }), (request, response) => {
    for (const reference of referencesIn(request.body)) payments.notify(reference);
    response.sendStatus(204);
  });

  const onPaymentsError: ErrorRequestHandler = (error, request, response, next) => {
    if (!(error instanceof PaymentsError)) return next(error);
    const answer = answerTo(error);
    if (answer.review) orders.hold(response.locals.order, error.message);
    response
      .status(answer.status)
      .set(answer.headers)
      .send(answerPage(answer, request.method === 'GET'));
  };
  app.use(onPaymentsError);

  return app;
}

const isInProduction = (app: Express) => app.get('env') === 'production';
