import { expect } from 'vitest';
import type { Stories } from '../story.ts';

export const jobQueues: Stories = {
  'docs/guides/job-queues.md, Wait on an engine': [
    { where: 'the payment is pending', printed: [expect.stringMatching(/^\{ delay: \d+ \}$/)] },
    {
      where: 'the customer has approved',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      printed: [expect.stringContaining("status: 'success'")],
    },
    {
      where: 'the service is down',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 503 }),
      printed: ['{ delay: 5000 }'],
    },
  ],
};
