import { type NextRequest, NextResponse } from 'next/server';
import { emailIn, orderIdIn } from '../../../../shop/incoming.ts';
import { nextAddress } from '../../../../shop/orders.ts';
import { follow } from '../../../../shop/shop.ts';
import { failed } from '../../../lib/failed.ts';
import { theShop } from '../../../lib/shop.ts';

/** Starts the payment of an order, and sends the customer to the checkout page. */
export async function POST(request: NextRequest): Promise<NextResponse> {
  const shop = theShop();
  const form = Object.fromEntries(await request.formData());
  const order = shop.orders.find(orderIdIn(form));
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  if (order.state !== 'new') {
    return goTo(new URL(nextAddress(order, '/api/checkout/return'), request.url), order.id);
  }

  const { id, amount, currency } = order;
  try {
    const input = { amount, currency, customer_email: emailIn(form) };
    const payment = await shop.payments.initialize(input, { idempotencyKey: id });
    const started = shop.orders.paymentStarted(order, payment);
    if (started) void follow(shop, started);
    return goTo(payment.checkout_url, id);
  } catch (error) {
    return failed(error, order);
  }
}

function goTo(address: string | URL, orderId: string): NextResponse {
  const response = NextResponse.redirect(address, 303);
  const secure = process.env.NODE_ENV === 'production';
  response.cookies.set('order', orderId, { httpOnly: true, sameSite: 'lax', secure });
  return response;
}
