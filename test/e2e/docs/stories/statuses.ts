import type { Stories } from '../story.ts';

const unrecognised = { kind: 'unrecognisedStatus' } as const;

export const statuses: Stories = {
  'docs/reference/statuses.md, Statuses': [
    { where: 'the payment is pending', printed: ["'17: check again later'"] },
    {
      where: 'the payment is paid',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      printed: ["'17: deliver'"],
    },
    {
      where: 'the payment failed',
      arrange: ({ mock, names }) => mock.decline(names.reference),
      printed: ["'17: return the goods to stock'"],
    },
    {
      where: 'the service reports another status',
      arrange: ({ mock }) => mock.fault('verify', unrecognised),
      printed: ['a new status reversed', "'17: check again later'"],
    },
  ],
};
