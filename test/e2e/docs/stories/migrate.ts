import { approves, busy, declines, losesResponse, type Stories } from '../story.ts';

const PATH = 'docs/guides/migrate.md';

export const migrate: Stories = {
  [`${PATH}, Migrate to this package`]: [
    { ...approves, printed: ["'deliver order 17'"], charges: 1 },
    { ...declines, printed: ["'return the goods of order 17 to stock'"], charges: 1 },
    {
      where: 'the customer does nothing',
      printed: ["'check TXN-000002 of order 17 again in an hour'"],
      charges: 1,
    },
    { ...losesResponse, printed: ["'a person looks at order 17'"], charges: 1 },
  ],
  [`${PATH}, Adopt open orders`]: [
    {
      where: 'it is paid',
      arrange: ({ mock, names }) => mock.settleAfter(names.reference, 0, 'success'),
      printed: ["'deliver order 17'"],
    },
    {
      where: 'it was declined',
      arrange: ({ mock, names }) => mock.settleAfter(names.reference, 0, 'failed'),
      printed: ["'return the goods of order 17 to stock'"],
    },
    { where: 'it is not final', printed: ["'check order 17 again in an hour'"] },
    {
      where: 'the service is busy',
      arrange: ({ mock }) => mock.fault('verify', busy, { times: 1_000 }),
      printed: ["'check order 17 again in an hour'"],
    },
    {
      where: 'the order has another amount',
      arrange: ({ names }) => void Object.assign(names.order, { amount: '2550.00' }),
      printed: ["'a person looks at order 17'"],
    },
  ],
};
