import { type NextRequest, NextResponse } from 'next/server';
import { errorPage } from '../../../../shop/pages.ts';
import { readEmail, readOrderId } from '../../../../shop/parse-request.ts';
import { respondToPress } from '../../../../shop/respond.ts';
import { html } from '../../../lib/respond.ts';
import { getShop } from '../../../lib/shop.ts';

/** Starts the payment of an order, and sends the customer to the checkout page. */
export async function POST(request: NextRequest): Promise<NextResponse> {
  const { orderPayments, orders } = getShop();
  const form = Object.fromEntries(await request.formData());
  const order = orders.find(readOrderId(form));
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);

  const { id, amount, currency } = order;
  const input = { amount, currency, customer_email: readEmail(form) };
  const next = await respondToPress(orderPayments.checkout(id, input), '/api/checkout/return');
  const response =
    'url' in next ? NextResponse.redirect(new URL(next.url, request.url), 303) : html(errorPage(next), next);
  const secure = process.env.NODE_ENV === 'production';
  response.cookies.set('order', id, { httpOnly: true, sameSite: 'lax', secure });
  return response;
}
