import { expect } from 'vitest';
import type { Stories } from '../story.ts';

const redirects = expect.stringMatching(/^'redirect to https?:\S+\/checkout\/TXN-\S+'$/);

export const checkout: Stories = {
  'docs/guides/checkout.md, Take payments by checkout page': [
    {
      where: 'the customer pays',
      arrange: ({ mock }) => void mock.settleAfter('next', 1_000, 'success'),
      printed: [redirects, "'Thank you.'"],
      charges: 0,
    },
    { where: 'the customer does not pay', printed: [redirects, "'The order is processing.'"] },
  ],
  'docs/guides/checkout.md, Call `initialize` yourself': [
    {
      where: 'the customer has paid at once',
      arrange: ({ mock }) => void mock.settleAfter('next', 0, 'success'),
      printed: [expect.stringMatching(/^'store TXN-\S+, redirect to https?:\S+'$/), "'deliver order 17'"],
      charges: 0,
    },
    { where: 'the customer has not paid', printed: [expect.stringMatching(/^'store TXN-/)] },
  ],
};
