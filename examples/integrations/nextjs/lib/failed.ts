import { NextResponse } from 'next/server';
import { PaymentsError } from 'payment-collection-client';
import { answerTo } from '../../shop/answers.ts';
import type { Order } from '../../shop/orders.ts';
import { answerPage } from '../../shop/pages.ts';
import { theShop } from './shop.ts';

/** What the customer sees when a payment could not be started, or asked about. */
export function failed(error: unknown, order: Order, asksAgain = false): NextResponse {
  if (!(error instanceof PaymentsError)) throw error;
  const answer = answerTo(error);
  if (answer.review) theShop().orders.hold(order, error.message);
  return html(answerPage(answer, asksAgain), answer);
}

export function html(page: string, { status = 200, headers = {} }: ResponseInit = {}): NextResponse {
  return new NextResponse(page, {
    status,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}
