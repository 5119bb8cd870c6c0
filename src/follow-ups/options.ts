import type { Transaction } from '../api/transaction.ts';
import type { PaymentsClient } from '../client.ts';
import { ConfigurationError } from '../errors.ts';
import type { AttentionReason } from '../events.ts';
import type { Journal } from '../journal/journal.ts';
import { FOLLOW_UP_ACCESS, type FollowUpAccess } from '../polling/follow-up-access.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { isObject, isPlainObject, orUndefined } from '../untrusted.ts';
import { MAX_PAUSE } from './plan.ts';

/** What {@link createFollowUps} takes. */
export interface FollowUpsOptions {
  /** The client. Its `polling` sets the schedule and the deadline, counted from the charge. Its limits hold. */
  payments: PaymentsClient;
  /** The journal of that client. */
  journal: Journal;
  /**
   * Called once a payment is final, at least once for each: fulfil the order if `transaction.status` is `success`, else
   * cancel it. It must do nothing if it has done so before. If it throws, it is called again later, for as long as it
   * throws. A payment whose amount or currency is not that of the charge never gets here.
   *
   * A call after the first is made from the record: `customer_email` is `null` then.
   *
   * @example
   * onFinal: ({ key, transaction }) => orders.settle(key, transaction.status === 'success' ? 'paid' : 'not paid')
   */
  onFinal: (payment: FinalPayment) => unknown;
  /**
   * Called when a person is needed: once for each reason, and again if it throws, or if the process is killed meanwhile.
   *
   * - `unresolved`: a charge might exist under this key. Find out, and call `payments.resolve`.
   * - `overdue`: the deadline has passed. The payment can still become final, and is checked for 7 more days.
   * - `mismatch`: the transaction has another amount or currency, or belongs to another key. Do not fulfil the order.
   * - `gone`: the service does not know the transaction any more.
   *
   * @example onAttention: ({ key, reason }) => alert(`payment ${key}: ${reason}`)
   */
  onAttention: (payment: PaymentAttention) => unknown;
}

/** What `onFinal` gets. */
export interface FinalPayment {
  /** The `idempotencyKey` of the charge. */
  readonly key: string;
  readonly reference: string;
  /** `status` is final: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` names others. */
  readonly transaction: Transaction;
}

/** What `onAttention` gets. */
export interface PaymentAttention {
  /** The `idempotencyKey` of the charge. */
  readonly key: string;
  /** The transaction, if it is known. */
  readonly reference?: string;
  readonly reason: AttentionReason;
}

/** The options, checked. */
export interface FollowUpContext extends Pick<FollowUpsOptions, 'journal' | 'onFinal' | 'onAttention'> {
  readonly access: FollowUpAccess;
  /** The keys that this process holds. A notification can make one due that is being checked. */
  readonly heldKeys: Set<string>;
}

const OPTIONS: Readonly<Record<keyof FollowUpsOptions, true>> = {
  payments: true,
  journal: true,
  onFinal: true,
  onAttention: true,
};

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
export function resolveFollowUpsOptions(options: FollowUpsOptions): FollowUpContext {
  if (!isPlainObject(options))
    throw new ConfigurationError('createFollowUps takes { payments, journal, onFinal, onAttention }.');
  const { payments, journal, onFinal, onAttention, ...others } = options;
  refuseUnknownOption(others, OPTIONS);
  for (const [name, handler] of Object.entries({ onFinal, onAttention })) {
    if (typeof handler !== 'function') throw new ConfigurationError(`${name} must be a function.`);
  }
  const access = readAccess(payments);
  if (!access)
    throw new ConfigurationError('payments must be a PaymentsClient of the same version of this package.');
  if (!access.journal)
    throw new ConfigurationError('The client has no journal, so there is nothing to follow: give it one.');
  if (access.journal !== journal)
    throw new ConfigurationError('journal must be the very journal that the client was given.');
  if (journal.followUps?.version !== 1)
    throw new ConfigurationError(
      'The journal has no followUps that this version knows. Make it with createJournal, and wrap it as { ...journal }.',
    );
  const { initialDelay, minDelay, maxDelay } = access.rules;
  if (Math.max(initialDelay, minDelay, maxDelay) > MAX_PAUSE)
    throw new ConfigurationError(
      'Follow-ups need polling.initialDelay, minDelay and maxDelay of at most an hour.',
    );
  return { access, journal, onFinal, onAttention, heldKeys: new Set() };
}

function readAccess(payments: unknown): FollowUpAccess | undefined {
  const access: unknown = isObject(payments)
    ? orUndefined((): unknown => Reflect.get(payments, FOLLOW_UP_ACCESS))
    : undefined;
  return isAccess(access) ? access : undefined;
}

function isAccess(value: unknown): value is FollowUpAccess {
  return isObject(value) && 'version' in value && value.version === 1;
}
