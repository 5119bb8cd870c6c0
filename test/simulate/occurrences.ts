/** What has to occur in a run: what never did was not tested. */

import { FAULTS } from './swarm.ts';

const EXPECTED: readonly string[] = [
  ...FAULTS,
  ...['unpaid', 'processing', 'paid', 'in_review'].map((state) => `state: ${state}`),
  ...['success', 'failed', 'abandoned'].map((status) => `status: ${status}`),
  ...['unresolved', 'shared_reference', 'mismatch', 'gone', 'price_changed', 'paid_twice'].map(
    (reason) => `listed: ${reason}`,
  ),
  'resolved: unresolved reference',
  'resolved: unresolved not_charged',
  'resolved: shared_reference closed',
  'resolved: mismatch accepted',
  'resolved: mismatch closed',
  'resolved: price_changed accepted',
  'resolved: price_changed closed',
  'resolved: paid_twice closed',
  ...['onPaid', 'onUnpaid', 'onFinal', 'onAttention'],
  ...['press', 'charge', 'webhook', 'pruned', 'key: charged', 'key: replayed'],
];

export const findMissing = (counts: Readonly<Record<string, number>>): string[] =>
  EXPECTED.filter((what) => !counts[what]);
