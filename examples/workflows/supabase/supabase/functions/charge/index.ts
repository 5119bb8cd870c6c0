import {
  AuthenticationError,
  InvalidInputError,
  PaymentsError,
  PermissionError,
} from 'payment-collection-client';
import type { Order } from '../_shared/orders.ts';
import { journal, orders, payments } from '../_shared/payments.ts';

/** What a customer reads. No error of the client is shown: it is written for you. */
const MESSAGES = {
  new: 'Payments are not possible at the moment. Please try again later.',
  pending: 'Approve the payment on your phone.',
  paid: 'Thank you. Your order is paid and on its way.',
  not_paid: 'Your order was not paid.',
  paid_late: 'We are reviewing your payment, and will write to you. Please do not pay again.',
  in_review: 'We are reviewing your payment, and will write to you. Please do not pay again.',
};

/**
 * `POST /charge` with `{ "order": "17" }`: the customer presses the button. It charges within the request, and its work ends
 * with the response. The customer can press again: each time the order is charged under the same key.
 */
Deno.serve(async (request) => {
  const body: unknown = await request.json().catch(() => undefined);
  const id = String(Object(body).order);
  const found = await orders.find(id);
  // A person has resolved the key as not charged. No handler is called then, so the button reads the journal.
  if (found?.state === 'in_review' && (await journal.read(id))?.state === 'not_charged')
    await orders.reopen(id);
  const order = await orders.find(id);
  if (!order) return Response.json({ message: 'There is no such order.' }, { status: 404 });
  if (order.state === 'new') await charge(order);
  const { state } = (await orders.find(id)) ?? order;
  const status = state === 'new' ? 503 : state === 'in_review' ? 202 : 200;
  return Response.json({ state, message: MESSAGES[state] }, { status });
});

async function charge({ id, amount, currency, customer_email, phone, network }: Order): Promise<void> {
  const input = { amount, currency, customer_email, phone, network };
  try {
    const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
    await orders.markCharged(id, reference);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    // A charge might exist. The key is unresolved, and the follow-ups report it to onAttention, too.
    if (error.outcome === 'unknown') await orders.holdForReview(id, 'unresolved');
    else if (isRejected(error)) await orders.markNotPaid(id);
  }
}

/** Whether this order cannot be paid. A wrong API key and too many requests are the shop's: the order stays new. */
function isRejected(error: PaymentsError): boolean {
  if (error instanceof InvalidInputError) return true;
  const isOurs = error instanceof AuthenticationError || error instanceof PermissionError || error.retryable;
  return error.outcome === 'rejected' && !isOurs;
}
