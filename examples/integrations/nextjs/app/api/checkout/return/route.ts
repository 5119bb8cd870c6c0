import { type NextRequest, NextResponse } from 'next/server';
import { orderPage } from '../../../../../shop/pages.ts';
import { html } from '../../../../lib/respond.ts';
import { getShop } from '../../../../lib/shop.ts';

/** The customer returns here. Do not trust the URL: it only makes a payment due for a check. */
export async function GET(request: NextRequest): Promise<NextResponse> {
  const { orderPayments, orders } = getShop();
  const order = orders.find(request.cookies.get('order')?.value);
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  await orderPayments.notify(request.nextUrl.searchParams);
  return html(orderPage(order, await orderPayments.read(order.id), '/api/checkout'));
}
