import { type NextRequest, NextResponse } from 'next/server';
import { type Network, PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../../../../shop/error-response.ts';
import { errorPage } from '../../../../shop/pages.ts';
import { MESSAGES } from '../../../lib/messages.ts';
import type { Order } from '../../../lib/orders.ts';
import { getShop } from '../../../lib/shop.ts';

/**
 * Charges an order within the request of the customer, who can press the button any number of times. The work ends with the
 * response: cron follows the payment, also if this function is killed at any step.
 */
export async function POST(request: NextRequest): Promise<NextResponse> {
  const { payments, journal, orders } = getShop();
  const form = await request.formData();
  const found = await orders.find(String(form.get('order')));
  // A person has resolved the key as not charged. No handler is called then, so the button reads the journal.
  if (found?.state === 'in_review' && (await journal.read(found.id))?.state === 'not_charged')
    await orders.reopen(found.id);
  const order = found && (await orders.find(found.id));
  if (!order) return NextResponse.redirect(new URL('/', request.url), 303);
  if (order.state === 'in_review') return html(MESSAGES.in_review, 202);
  if (order.state !== 'new') return showStatus(request, order);

  const { id, amount, currency } = order;
  try {
    const input = {
      amount,
      currency,
      customer_email: String(form.get('customer_email')),
      phone: String(form.get('phone')),
      network: readNetwork(form.get('network')),
    };
    const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
    await orders.markCharged(id, reference);
    return showStatus(request, order);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    const result = toErrorResponse(error);
    // A charge might exist. The key is unresolved, and the follow-ups report it to onAttention, too.
    if (result.review) await orders.holdForReview(id, 'unresolved');
    return html(errorPage(result), result.status, result.headers);
  }
}

function readNetwork(value: unknown): Network {
  return value === 'telecel' || value === 'airteltigo' ? value : 'mtn';
}

function showStatus(request: NextRequest, { id }: Order): NextResponse {
  return NextResponse.redirect(new URL(`/orders/${id}`, request.url), 303);
}

function html(page: string, status: number, headers: Readonly<Record<string, string>> = {}): NextResponse {
  return new NextResponse(page, {
    status,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}
