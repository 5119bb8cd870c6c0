import type { ClientAccess } from '../client-access.ts';
import type { Records } from '../journal/compare-and-swap.ts';
import type { FollowUpRecords } from '../journal/core.ts';
import type { OrderPaymentsOptions } from './options.ts';

/** The options, checked, and what belongs to them. */
export interface OrdersContext
  extends Pick<OrderPaymentsOptions, 'payments' | 'onPaid' | 'onAttention' | 'onUnpaid'> {
  readonly access: ClientAccess;
  readonly records: Records;
  readonly followUps: FollowUpRecords;
}
