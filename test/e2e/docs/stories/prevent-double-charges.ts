import { accepted, lost, type Stories } from '../story.ts';

export const preventDoubleCharges: Stories = {
  'docs/guides/prevent-double-charges.md, Charge at most once': [
    { ...accepted, where: 'the key is used twice' },
  ],
  'docs/guides/prevent-double-charges.md, Let the customer pay again (2)': [
    {
      where: 'the customer declines, and orders again',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'failed'),
      charges: 2,
    },
  ],
  'docs/guides/prevent-double-charges.md, Let the customer pay again (3)': [
    {
      where: 'the connection breaks, and a person finds no charge',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', { kind: 'reset' }),
      charges: 1,
    },
  ],
  'docs/guides/prevent-double-charges.md, Handle an unknown result': [
    { ...accepted, printed: ["'Order 17 waits for TXN-000002.'"] },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: ["'Hold order 17: the customer might have been charged.'"],
      charges: 1,
    },
  ],
  'docs/guides/prevent-double-charges.md, Resolve an unresolved key': [
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      charges: 1,
    },
  ],
};
