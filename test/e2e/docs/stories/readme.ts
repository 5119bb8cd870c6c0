import { expect } from 'vitest';
import { approves, declines, losesResponse, lost, refused, refuses, type Stories } from '../story.ts';

export const readme: Stories = {
  'README.md, payment-collection-client': [
    { ...approves, printed: ["'Thank you. Your order is paid.'"], charges: 1 },
    { ...declines, printed: [], charges: 1 },
  ],
  'README.md, Quick start': [
    { ...approves, printed: ["'order 17 is paid'", "'deliver order 17'"], charges: 1 },
    { ...declines, printed: ["'order 17 is unpaid'"], charges: 1 },
    {
      ...approves,
      where: 'it is run three times',
      runs: 3,
      printed: ["'order 17 is paid'", "'deliver order 17'", "'order 17 is paid'", "'order 17 is paid'"],
      charges: 1,
    },
    { ...refuses, printed: [expect.stringContaining('422')], charges: 0 },
    {
      ...losesResponse,
      printed: ["'order 17 is in_review'", "'ALERT: payment 17/1 is unresolved'"],
      charges: 1,
    },
  ],
  'README.md, Handle errors': [
    { where: 'the charge is accepted', printed: [], charges: 1 },
    {
      where: 'the service refuses the charge',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
      printed: ['invalid_request correct We could not start the payment. Try again later.'],
      charges: 0,
    },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: ["'We are checking your payment. Do not pay again.'"],
      charges: 1,
    },
  ],
};
