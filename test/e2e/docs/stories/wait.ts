import { expect } from 'vitest';
import { approved, declined, type Stories, silent } from '../story.ts';

export const wait: Stories = {
  'docs/guides/wait.md, Wait for the final status': [{ ...approved, actions: [], printed: ["'success'"] }],
  'docs/guides/wait.md, Choose a deadline, and handle its end': [approved, declined, silent],
  'docs/guides/wait.md, Continue after a restart': [
    {
      where: 'the customer has approved',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      actions: ['fulfil order-17'],
    },
    {
      where: 'the service refuses to say',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^TXN-000001: the check failed, the order stays open AuthenticationError/),
      ],
    },
    {
      where: 'the customer has paid another amount',
      arrange({ mock, names }) {
        mock.approve(names.reference);
        mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      },
      actions: ['holdForReview order-17 TransactionMismatchError'],
    },
  ],
};
