import { type NextRequest, NextResponse } from 'next/server';
import { findNextUrl } from '../../../../shop/orders.ts';
import { readEmail, readOrderId } from '../../../../shop/parse-request.ts';
import { follow } from '../../../../shop/shop.ts';
import { respondToError } from '../../../lib/respond.ts';
import { getShop } from '../../../lib/shop.ts';

/** Starts the payment of an order, and sends the customer to the checkout page. */
export async function POST(request: NextRequest): Promise<NextResponse> {
  const shop = getShop();
  const form = Object.fromEntries(await request.formData());
  const order = shop.orders.find(readOrderId(form));
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  if (order.state !== 'new') {
    return goTo(new URL(findNextUrl(order, '/api/checkout/return'), request.url), order.id);
  }

  const { id, amount, currency } = order;
  try {
    const input = { amount, currency, customer_email: readEmail(form) };
    const payment = await shop.payments.initialize(input, { idempotencyKey: id });
    const started = shop.orders.startPayment(order, payment);
    if (started) void follow(shop, started);
    return goTo(payment.checkout_url, id);
  } catch (error) {
    return respondToError(error, order);
  }
}

function goTo(address: string | URL, orderId: string): NextResponse {
  const response = NextResponse.redirect(address, 303);
  const secure = process.env.NODE_ENV === 'production';
  response.cookies.set('order', orderId, { httpOnly: true, sameSite: 'lax', secure });
  return response;
}
