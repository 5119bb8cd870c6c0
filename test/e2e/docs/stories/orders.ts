import { endsAfterStep, lost, refused, type Stories } from '../story.ts';

const SENT = "'Approve the payment on your phone.'";
const UNDER_REVIEW = "'We are checking your payment. Do not pay again.'";

export const orders: Stories = {
  'docs/guides/orders.md, Charge an order': [
    { where: 'the charge is accepted', printed: [SENT, SENT], charges: 1 },
    {
      where: 'the service refuses the first charge',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
      printed: [
        "'order 17: invalid_request, correct'",
        "'The payment did not start. Check the number, and try again.'",
        SENT,
      ],
      charges: 1,
    },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: [UNDER_REVIEW, UNDER_REVIEW],
      charges: 1,
    },
  ],
  'docs/guides/orders.md, Follow payments up': [
    endsAfterStep({
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: ["'deliver order 17, if that is not done'"],
      charges: 1,
    }),
    endsAfterStep({
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: ["'ask the customer to pay order 17 again'"],
      charges: 1,
    }),
    endsAfterStep({
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: ["'ALERT: order 17, payment 17/1: unresolved'"],
      charges: 1,
    }),
  ],
  'docs/guides/orders.md, Wait for one order': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: ["'paid'"],
      charges: 1,
    },
  ],
};
