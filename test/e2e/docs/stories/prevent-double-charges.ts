import { accepted, lost, type Stories } from '../story.ts';

export const preventDoubleCharges: Stories = {
  'docs/guides/prevent-double-charges.md, Charge at most once': [
    { ...accepted, where: 'the key is used twice' },
  ],
  'docs/guides/prevent-double-charges.md, Normalise phone numbers': [
    { ...accepted, where: 'the phone is typed in two ways' },
  ],
  'docs/guides/prevent-double-charges.md, Resolve an unknown key': [
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      charges: 1,
    },
  ],
};
