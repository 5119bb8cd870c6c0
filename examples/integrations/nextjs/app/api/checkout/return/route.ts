import { type NextRequest, NextResponse } from 'next/server';
import { orderPage } from '../../../../../shop/pages.ts';
import { failed, html } from '../../../../lib/failed.ts';
import { theShop } from '../../../../lib/shop.ts';

/** Where the customer comes back. Whatever the address holds, it is the order's own reference that is asked about. */
export async function GET(request: NextRequest): Promise<NextResponse> {
  const { payments, orders } = theShop();
  const order = orders.find(request.cookies.get('order')?.value);
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  if (!order.payment || order.state === 'in_review') return html(orderPage(order));

  const { amount, currency } = order;
  try {
    const transaction = await payments.verify(order.payment.reference, { expect: { amount, currency } });
    return html(orderPage(orders.conclude(order, transaction)));
  } catch (error) {
    return failed(error, order, true);
  }
}
