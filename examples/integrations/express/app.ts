import cookieParser from 'cookie-parser';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../shop/error-response.ts';
import { findNextUrl } from '../shop/orders.ts';
import { basketPage, errorPage, orderPage } from '../shop/pages.ts';
import { findReferences, readEmail, readOrderId } from '../shop/parse-request.ts';
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
    const order = orders.find(readOrderId(request.body));
    if (!order) return response.redirect(303, '/');
    response.cookie('order', order.id, { httpOnly: true, sameSite: 'lax', secure: isInProduction(app) });
    response.locals.order = order;
    if (order.state !== 'new') return response.redirect(303, findNextUrl(order));

    const { id, amount, currency } = order;
    const input = { amount, currency, customer_email: readEmail(request.body) };
    const payment = await payments.initialize(input, { idempotencyKey: id });
    const started = orders.startPayment(order, payment);
    if (started) void follow(shop, started);
    response.redirect(303, payment.checkout_url);
  });

  // Do not trust the URL: check the reference of the customer's own order.
  app.get('/checkout/return', async (request, response) => {
    const order = orders.find(request.cookies.order);
    if (!order) return response.redirect(303, '/');
    response.locals.order = order;
    if (!order.payment || order.state === 'in_review') return response.send(orderPage(order));

    const { amount, currency } = order;
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    response.send(orderPage(orders.applyStatus(order, transaction)));
  });

  app.post('/webhooks/payments', express.text({ type: () => true, limit: '10kb' }), (request, response) => {
    for (const reference of findReferences(request.body)) payments.notify(reference);
    response.sendStatus(204);
  });

  const onPaymentsError: ErrorRequestHandler = (error, request, response, next) => {
    if (!(error instanceof PaymentsError)) return next(error);
    const result = toErrorResponse(error);
    if (result.review) orders.holdForReview(response.locals.order, error.message);
    response
      .status(result.status)
      .set(result.headers)
      .send(errorPage(result, request.method === 'GET'));
  };
  app.use(onPaymentsError);

  return app;
}

const isInProduction = (app: Express) => app.get('env') === 'production';
