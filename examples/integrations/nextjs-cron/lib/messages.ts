import type { OrderState } from './orders.ts';

/** What a customer reads. No error of the client is shown: it is written for you. */
export const MESSAGES: Readonly<Record<OrderState, string>> = {
  new: 'Your order is not paid yet.',
  paying: 'Approve the payment on your phone. Please do not pay again.',
  paid: 'Thank you. Your order is paid and on its way.',
  not_paid: 'Your order was not paid.',
  paid_late: 'We are reviewing your payment, and will write to you. Please do not pay again.',
  in_review: 'We are reviewing your payment, and will write to you. Please do not pay again.',
};
