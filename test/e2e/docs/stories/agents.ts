import { approves, declines, losesResponse, refuses, type Stories } from '../story.ts';

export const agents: Stories = {
  'AGENTS.md, For coding agents': [
    { ...approves, printed: ["'paid'"], charges: 1 },
    { ...declines, printed: ["'not paid: the customer can pay again'"], charges: 1 },
    { ...losesResponse, printed: ["'hold the order for manual review'"], charges: 1 },
    {
      where: 'the service reports another amount',
      arrange({ mock }) {
        mock.settleAfter('next', 1_000, 'success');
        mock.fault('verify', { kind: 'wrongAmount', amount: '10.00' });
      },
      printed: ["'hold the order for manual review'"],
      charges: 1,
    },
    {
      where: 'the customer does nothing',
      printed: ["'keep the order open, and check later'"],
      charges: 1,
    },
    { ...refuses, printed: ["'not started: correct'"], charges: 0 },
  ],
};
