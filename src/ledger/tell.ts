/** What the handlers were told: a fact of the record, so that it survives the process that told it. */

import { getPause } from './check.ts';
import type { OwedCall } from './order.ts';
import { type LedgerRecord, type Payment, putPayment } from './record.ts';

/** Notes that a handler was told. What it was told belongs to the attempt: a new one under the same number is told anew. */
export function tell(before: LedgerRecord | null, call: OwedCall): LedgerRecord | null {
  const payment = before?.payments[call.number - 1];
  if (!before || payment?.attempt !== call.attempt) return before;
  const { telling: _, ...record } = before;
  return putPayment(record, call.number, { ...payment, told: addTold(payment.told, call) });
}

function addTold(told: Payment['told'], { handler, what }: OwedCall): Payment['told'] {
  switch (handler) {
    case 'onPaid':
      return { ...told, paid: true };
    case 'onUnpaid':
      return { ...told, unpaid: true };
    case 'onFinal':
      return { ...told, final: told.final === 'success' || what === 'success' ? 'success' : 'ended' };
    case 'onAttention':
      return what === undefined || told.attention.includes(what)
        ? told
        : { ...told, attention: [...told.attention, what] };
  }
}

/** Notes that a handler failed: what is owed is due again after a pause that doubles from 30 s to an hour. */
export function tellLater(
  before: LedgerRecord | null,
  { now, random }: { now: number; random: number },
): LedgerRecord | null {
  if (!before) return before;
  const failures = (before.telling?.failures ?? 0) + 1;
  return { ...before, telling: { failures, retryAt: now + getPause(failures, random) } };
}
