import { NextResponse } from 'next/server';
import { PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../../shop/error-response.ts';
import type { Order } from '../../shop/orders.ts';
import { errorPage } from '../../shop/pages.ts';
import { getShop } from './shop.ts';

/** Responds to the customer after an error of a payment's start or check. */
export function respondToError(error: unknown, order: Order, isRefreshed = false): NextResponse {
  if (!(error instanceof PaymentsError)) throw error;
  const result = toErrorResponse(error);
  if (result.review) getShop().orders.holdForReview(order, error.message);
  return html(errorPage(result, isRefreshed), result);
}

export function html(page: string, { status = 200, headers = {} }: ResponseInit = {}): NextResponse {
  return new NextResponse(page, {
    status,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}
