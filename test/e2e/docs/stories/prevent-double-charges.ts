import { accepted, losesResponse, type Stories } from '../story.ts';

export const preventDoubleCharges: Stories = {
  'docs/guides/prevent-double-charges.md, Charge at most once': [
    { ...accepted, where: 'the key is used twice' },
  ],
  'docs/guides/prevent-double-charges.md, Handle an unknown result': [
    { ...accepted, printed: ["'Order 17 waits for TXN-000002.'"] },
    { ...losesResponse, printed: ["'Hold order 17: the customer might have been charged.'"], charges: 1 },
  ],
  'docs/guides/prevent-double-charges.md, Resolve an unresolved idempotency key': [
    { ...losesResponse, charges: 1 },
  ],
};
