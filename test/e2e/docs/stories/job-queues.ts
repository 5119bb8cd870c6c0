import { expect } from 'vitest';
import { busy, losesResponse, refuses, type Stories } from '../story.ts';

export const jobQueues: Stories = {
  'docs/guides/job-queues.md, Use a job queue or a workflow engine': [
    {
      where: 'the payment is pending',
      printed: ['{ delay: 8000 }', expect.stringMatching(/^\{ delay: \d+ \}$/)],
      charges: 1,
    },
    {
      where: 'the customer approves at once',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'success'),
      printed: ['{ delay: 8000 }', "{ end: 'deliver' }"],
      charges: 1,
    },
    {
      where: 'the customer declines at once',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'failed'),
      printed: ['{ delay: 8000 }', "{ end: 'release' }"],
      charges: 1,
    },
    {
      where: 'the customer pays another amount',
      arrange({ mock }) {
        mock.settleAfter('next', 0, 'success');
        mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      },
      printed: ['{ delay: 8000 }', "{ end: 'review' }"],
      charges: 1,
    },
    {
      where: 'the service is down during the check',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 503 }),
      printed: ['{ delay: 8000 }', '{ delay: 5000 }'],
      charges: 1,
    },
    { ...refuses, printed: ["{ end: 'refused' }", '{ delay: 8000 }'], charges: 1 },
    {
      where: 'the service is busy',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', busy),
      printed: ['{ delay: 60000 }', '{ delay: 8000 }'],
      charges: 1,
    },
    { ...losesResponse, printed: ["{ end: 'review' }", "{ end: 'review' }"], charges: 1 },
  ],
};
