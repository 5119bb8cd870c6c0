import { type NextRequest, NextResponse } from 'next/server';
import { orderPage } from '../../../../../shop/pages.ts';
import { html, respondToError } from '../../../../lib/respond.ts';
import { getShop } from '../../../../lib/shop.ts';

/** The customer returns here. Do not trust the URL: check the reference of the customer's own order. */
export async function GET(request: NextRequest): Promise<NextResponse> {
  const { payments, orders } = getShop();
  const order = orders.find(request.cookies.get('order')?.value);
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  if (!order.payment || order.state === 'in_review') return html(orderPage(order));

  const { amount, currency } = order;
  try {
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    return html(orderPage(orders.applyStatus(order, transaction)));
  } catch (error) {
    return respondToError(error, order, true);
  }
}
