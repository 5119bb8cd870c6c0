import { accepted, losesResponse, type Stories } from '../story.ts';

export const preventDoubleCharges: Stories = {
  'docs/guides/prevent-double-charges.md, Charge at most once': [
    { ...accepted, where: 'the key is used twice' },
  ],
  'docs/guides/prevent-double-charges.md, Resolve an unresolved idempotency key': [
    { ...losesResponse, charges: 1 },
  ],
};
