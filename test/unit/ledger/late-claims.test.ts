import { expect, test } from 'vitest';
import { getState } from '../../../src/ledger/order.ts';
import { complete, recordClaim } from '../../../src/ledger/outcome.ts';
import type { Ask } from '../../../src/ledger/press.ts';
import { BEGAN_AT, createOrder, madePayment } from './records.ts';

const NOW = BEGAN_AT + 60_000;

test('a transaction that is named late counts only once its claim is confirmed', () => {
  const { operation, amount, currency, fingerprint, schedule, finalStatuses } = madePayment;
  const ask: Ask = {
    ...{ operation, amount, currency, fingerprint, schedule, finalStatuses },
    attempt: 'attempt-1',
  };
  // Its attempt is gone, so nothing in the record held the reference when it was claimed: another order can have taken it over.
  const order = createOrder({
    ...madePayment,
    attempt: 'attempt-2',
    charge: { is: 'none', why: 'not_sent' },
  });
  const made = { is: 'made', result: { reference: 'TXN-1' }, isClaimed: true } as const;
  const { record, claims } = complete(order, { kind: 'order', service: 'digest' }, ask, made, NOW);
  expect(claims).toBe('TXN-1');
  expect(record && getState(record, NOW)).toBe('in_review');
  const confirmed = recordClaim(record, 'attempt-1', made, NOW);
  expect(confirmed && getState(confirmed, NOW)).toBe('processing');
  const refused = recordClaim(record, 'attempt-1', { ...made, isClaimed: false }, NOW);
  expect(refused && getState(refused, NOW)).toBe('in_review');
});
