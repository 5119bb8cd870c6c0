import { expect } from 'vitest';
import type { Stories, Story } from '../story.ts';

const approved: Story = {
  where: 'the customer approves',
  arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'success'),
};

export const wait: Stories = {
  'docs/guides/wait.md, Wait for the final status': [
    { ...approved, printed: ["'deliver order 17'"] },
    {
      where: 'the customer declines',
      arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'failed'),
      printed: ["'return the goods of order 17 to stock'"],
    },
    {
      where: 'the customer has abandoned the payment',
      arrange: ({ mock, names }) => void mock.abandon(names.reference),
      printed: ["'return the goods of order 17 to stock'"],
    },
    { where: 'the customer does nothing', printed: ["'keep order 17 open, and check it again in an hour'"] },
    {
      where: 'the customer pays another amount',
      arrange({ mock, names }) {
        mock.approve(names.reference);
        mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      },
      printed: ["'a person compares order 17 with the records of the service'"],
    },
  ],
  'docs/guides/wait.md, Set the schedule and the limits': [approved],
  'docs/guides/wait.md, Continue after a restart': [
    {
      where: 'the customer has approved',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      printed: ["'deliver the order of TXN-000001'"],
    },
    {
      where: 'the customer has declined',
      arrange: ({ mock, names }) => mock.decline(names.reference),
      printed: ["'return the goods of TXN-000001 to stock'"],
    },
    { where: 'the payment is pending', printed: [] },
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
      printed: ["'a person compares TXN-000001'"],
    },
  ],
};
