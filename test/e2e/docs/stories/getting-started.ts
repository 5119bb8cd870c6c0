import { expect } from 'vitest';
import { lost, type Stories } from '../story.ts';

const CHARGED = expect.stringMatching(/^charged: TXN-/);

export const gettingStarted: Stories = {
  'docs/getting-started.md, Charge a customer': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: [CHARGED, expect.stringMatching(/^'order \S+ is paid'$/)],
      charges: 1,
    },
    {
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: [CHARGED, expect.stringMatching(/ is not paid: failed'$/)],
      charges: 1,
    },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: [expect.stringContaining('a charge might exist, a person must find it')],
      charges: 1,
    },
  ],
};
