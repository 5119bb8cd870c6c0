import type { Transaction } from '../api/transaction.ts';
import type { ClientAccess } from '../client-access.ts';
import type { AttentionReason } from '../events.ts';
import type { FollowUpRecords } from '../journal/follow-up-records.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RecordKind } from '../journal/store.ts';

/** The handlers of a sweeper. One that throws is called again later. What one does before it calls a handler of the merchant ends with `stop`. */
export interface SweepHandlers {
  /** Called at least once for each payment that is final, and once more if one that was `abandoned` is `success` after all. */
  readonly onFinal: (
    payment: SweptPayment & { readonly reference: string },
    transaction: Transaction,
    stop: AbortSignal,
  ) => unknown;
  /** Returns why a person is needed although a payment is final: then `onAttention` is called, and `onFinal` is not. */
  readonly findProblem?: (
    payment: SweptPayment,
    transaction: Transaction,
  ) => Promise<AttentionReason | undefined>;
  /** Called once for each reason, and again if it throws. */
  readonly onAttention: (payment: SweptPayment, reason: AttentionReason, stop: AbortSignal) => unknown;
}

/** A payment that a handler is called for. */
export interface SweptPayment {
  readonly key: string;
  readonly reference: string | undefined;
  /** As it was before the call. */
  readonly record: JournalRecord;
}

/** What the sweeps of one sweeper share. */
export interface SweepContext extends SweepHandlers {
  readonly kind: RecordKind;
  readonly records: FollowUpRecords;
  readonly access: ClientAccess;
  /** The keys that this process holds. A notification can make one due that is being checked. */
  readonly heldKeys: Set<string>;
  /** The steps whose handler has not settled for long. No later sweep waits for them. */
  readonly slowSteps: Set<Promise<void>>;
}
