import { expect } from 'vitest';
import { lost, type Stories } from '../story.ts';

/** The pages for those who run a shop. */
export const operations: Stories = {
  'docs/guides/rotate-api-key.md, Rotate the API key': [
    {
      where: 'the first key is refused',
      arrange({ mock, names }) {
        mock.approve(names.reference);
        mock.fault('verify', { kind: 'status', status: 401 });
      },
      printed: [expect.stringMatching(/^'the API key was refused/), "'success'"],
    },
  ],
  'docs/guides/charged-twice.md, Answer "I was charged twice"': [
    {
      where: 'the customer has paid',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'success'),
      printed: [expect.stringMatching(/^17\/1 TXN-\w+ success 25\.50 GHS \d{4}-/)],
      charges: 1,
    },
    {
      where: 'the response was lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: ['17/1 has no reference'],
      charges: 1,
    },
  ],
};
