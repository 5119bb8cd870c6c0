import { expect } from 'vitest';
import { accepted, approved, declined, inDoubt, refusal, type Stories, silent } from '../story.ts';

export const readme: Stories = {
  'README.md, Charge a customer': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: [expect.stringMatching(/^'paid at \d{4}-.*'$/)],
      charges: 1,
    },
    {
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: ["'not paid: failed'"],
      charges: 1,
    },
  ],
  'README.md, Handle errors': [accepted, refusal, inDoubt],
  'README.md, Wait for the final status': [approved, declined, silent],
  'README.md, Charge at most once': [accepted],
};
