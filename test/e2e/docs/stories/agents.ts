import { expect } from 'vitest';
import { approves, declines, losesResponse, refuses, type Stories } from '../story.ts';

export const agents: Stories = {
  'AGENTS.md, For coding agents': [
    {
      ...approves,
      where: 'it is run three times',
      runs: 3,
      printed: ["'paid'", "'deliver order 17'", "'paid'", "'paid'"],
      charges: 1,
    },
    { ...declines, printed: ["'not paid: the customer can pay again'"], charges: 1 },
    {
      ...losesResponse,
      printed: ["'hold the order for manual review'", "'ALERT: payment 17/1 is unresolved'"],
      charges: 1,
    },
    {
      where: 'the service reports another amount',
      arrange({ mock }) {
        mock.settleAfter('next', 1_000, 'success');
        mock.fault('verify', { kind: 'wrongAmount', amount: '10.00' }, { times: 2 });
      },
      printed: ["'hold the order for manual review'", "'ALERT: payment 17/1 is mismatch'"],
      charges: 1,
    },
    {
      where: 'the customer does nothing',
      printed: ["'keep the order open, and check later'"],
      charges: 1,
    },
    { ...refuses, printed: ["'not started: correct'", expect.stringContaining('422')], charges: 0 },
  ],
};
