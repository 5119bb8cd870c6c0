import type { Stories } from '../story.ts';

const PATH = 'docs/guides/testing.md';

export const testing: Stories = {
  [`${PATH}, Test follow-ups (2)`]: [
    {
      where: 'the customer has paid',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'success'),
      printed: ["'order-17/1 success'", '1'],
      charges: 1,
    },
    { where: 'the customer has not approved', printed: ["'order-17/1 overdue'", '1'], charges: 1 },
  ],
};
