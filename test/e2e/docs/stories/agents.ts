import { lost, type Stories } from '../story.ts';

export const agents: Stories = {
  'AGENTS.md, For coding agents': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: ["'paid'"],
      charges: 1,
    },
    {
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: ["'not paid: failed'"],
      charges: 1,
    },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: ["'hold the order for manual review'"],
      charges: 1,
    },
    {
      where: 'the service reports another amount',
      arrange({ mock }) {
        mock.settleAfter('next', 1_000, 'success');
        mock.fault('verify', { kind: 'wrongAmount', amount: '10.00' });
      },
      printed: ["'hold the order for manual review'"],
      charges: 1,
    },
    { where: 'the customer does nothing', printed: ["'keep the order open'"], charges: 1 },
  ],
};
