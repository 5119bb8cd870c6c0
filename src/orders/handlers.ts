import type { HandlerCall } from '../follow-ups/step.ts';
import type { OrdersContext } from './options.ts';
import { toOrderPayment } from './status.ts';

export function findOrderHandler(
  { records, onPaid, onUnpaid, onAttention }: OrdersContext,
  { handler, name: { id: order }, record, payment: found, what, reference, transaction }: HandlerCall,
): (() => unknown) | undefined {
  const payment = toOrderPayment(order, record, found, records.now);
  if (handler === 'onPaid') return transaction && (() => onPaid({ order, payment, transaction }));
  if (handler === 'onUnpaid') return onUnpaid && (() => onUnpaid({ order, payment }));
  if (what === undefined || what === 'success' || what === 'ended') return undefined;
  const { key } = payment;
  return () =>
    onAttention({ order, key, ...(reference !== undefined && { reference }), reason: what, payment });
}
