/**
 * At most one charge for each `idempotencyKey`, through a crash at any time. The service has no idempotency key, so the
 * record of the key decides whether a request is sent.
 *
 * 1. Claim: the record says `sending` before anything is sent (claim.ts).
 * 2. Send: only under a claim whose lease has not expired (send-claimed.ts).
 * 3. Record: the outcome is recorded before the caller gets it.
 *
 * If the record leaves the outcome unknown, nothing is sent until a person resolves the key. The states, and what a crash
 * leaves at each step, are drawn in docs/guides/prevent-double-charges.md.
 */

import type { ClientAccess } from '../client-access.ts';
import { type AnyTransaction, ClosedError, JournalError, TransactionMismatchError } from '../errors.ts';
import type { Records } from '../journal/records.ts';
import { isSending, referenceOf } from '../ledger/payment.ts';
import type { Ask } from '../ledger/press.ts';
import type { LedgerRecord, Payment } from '../ledger/record.ts';
import { elapsedSince, linkSignals, readClocks, sleep, type Timestamp } from '../support/timing.ts';
import { type CreateRequest, claimPayment, createAsk, type KeyedCall, resolveOrigin } from './claim.ts';
import { validateIdempotencyKey } from './fingerprint.ts';
import {
  closedKeyError,
  conflictError,
  createKeyContext,
  type KeyContext,
  notSentError,
  resolvedMeanwhileError,
  sharedReferenceError,
  unreadableRecordError,
  unreadableResultError,
  unresolvedKeyError,
} from './key-errors.ts';
import { type Claim, createEmit, type Emit, sendClaimed } from './send-claimed.ts';

/** Sends a call at most once for its key, replays its recorded result, or throws if the outcome is unknown. */
export async function sendKeyed<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  access: ClientAccess,
  records: Records,
  keyed: KeyedCall<Input, Request, Result>,
): Promise<Result> {
  validateIdempotencyKey(keyed.name.id, keyed.operation.name);
  const context = createKeyContext(keyed.name.id, keyed, access.client.redactReference);
  const emit = createEmit(access, context);
  const claimed = await claimKey(access, records, keyed, context, emit);
  if ('replayed' in claimed) return replay(keyed, claimed.replayed, context, emit);
  const sent = await sendClaimed(access, records, keyed, context, claimed);
  if (sent.result === undefined) throw sent.error;
  if (sent.isRecorded)
    assertOwn(sent.record, claimed.facts.ask.attempt, sent.result.reference, context, emit);
  return sent.result;
}

/** Delays between two reads while another call is charging under the key, in milliseconds. */
const MIN_POLL_DELAY = 25;
const MAX_POLL_DELAY = 500;

/**
 * Claims the key, or returns the payment that has its result. While another call is charging under the key, its end is waited
 * for: until the journal, or this process's own clock, shows no heartbeat for a whole lease.
 */
async function claimKey<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  access: ClientAccess,
  records: Records,
  keyed: KeyedCall<Input, Request, Result>,
  context: KeyContext,
  emit: Emit,
): Promise<Claim | { readonly replayed: Payment }> {
  const { name, call } = keyed;
  const since = readClocks();
  const { signal, release } = linkSignals(
    call.signal,
    access.closing,
    () => new ClosedError(context.operation),
  );
  try {
    const origin = await resolveOrigin(access, { signal, timeout: call.timeout }, context.operation);
    const owner = { kind: name.kind, service: origin.service };
    const pressing = { access, records, since, startAnother: false, signal };
    const other = new OtherCall(records.lease, () => emit('waiting'));
    let known = records.unread;
    for (;;) {
      const { ask, requestId } = await createAsk(access, keyed, context.redactId);
      const facts = { name, owner, ask };
      const decided = await claimPayment(pressing, facts, known).catch((error: unknown) => {
        throw toClaimError(error, context, emit);
      });
      const { decision, found } = decided;
      if (decision.do === 'send') return { facts, decided, origin, requestId, hasWaited: other.wasSeen };
      known = decision.do === 'again' ? found : undefined;
      if (known) continue;
      const number = 'number' in decision ? decision.number : undefined;
      const payment = findRecordedPayment(found.record, number, ask, context, records.now);
      const { charge } = payment;
      // After the store's clock was set back, only our own shows whether the other call lives.
      const isHeld = charge.is === 'sending' && records.now < charge.until;
      if (!isHeld || other.isDead(found.version)) return { replayed: payment };
      await other.wait(signal);
    }
  } finally {
    release();
  }
}

/** Another call that is charging under the key, as far as this one can see. */
class OtherCall {
  readonly #lease: number;
  readonly #onSeen: () => void;
  #seen: { version: string | null; since: Timestamp } | undefined;
  #delay = MIN_POLL_DELAY;

  constructor(lease: number, onSeen: () => void) {
    this.#lease = lease;
    this.#onSeen = onSeen;
  }

  get wasSeen(): boolean {
    return this.#seen !== undefined;
  }

  /** Whether it has not written for a whole lease. The journal's clock might stand still, or have been set back. */
  isDead(version: string | null): boolean {
    if (!this.#seen) this.#onSeen();
    if (this.#seen?.version !== version) this.#seen = { version, since: readClocks() };
    return elapsedSince(this.#seen.since) > this.#lease;
  }

  async wait(signal: AbortSignal): Promise<void> {
    await sleep(this.#delay, signal);
    this.#delay = Math.min(this.#delay * 1.5, MAX_POLL_DELAY);
  }
}

function toClaimError(error: unknown, context: KeyContext, emit: Emit): unknown {
  if (!(error instanceof JournalError)) return error;
  if (error.outcome !== 'unknown') return notSentError(context, error);
  emit('unresolved');
  return unreadableRecordError(context, error);
}

/** @throws {IdempotencyConflictError} if the key was used with other input */
function findRecordedPayment(
  record: LedgerRecord | null,
  number: number | undefined,
  { fingerprint }: Ask,
  context: KeyContext,
  now: number,
): Payment {
  const payment = record?.payments[(number ?? 0) - 1];
  if (!payment) throw new JournalError('The record of this key has no such payment.', { outcome: 'unknown' });
  if (payment.fingerprint !== fingerprint) throw conflictError(context, describeUsed(payment, now));
  return payment;
}

function describeUsed(payment: Payment, now: number) {
  const reference = referenceOf(payment);
  switch (payment.charge.is) {
    case 'made':
      return { state: 'completed', reference } as const;
    case 'closed':
      return { state: 'closed', reference } as const;
    default:
      return { state: isSending(payment, now) ? 'in_progress' : 'unknown', reference } as const;
  }
}

/** Returns the recorded result. @throws {OutcomeUnknownError} if there is none */
function replay<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { operation, call }: KeyedCall<Input, Request, Result>,
  { charge }: Payment,
  context: KeyContext,
  emit: Emit,
): Result {
  if (charge.is === 'closed') throw closedKeyError(context, charge.reference ?? charge.named);
  if (charge.is !== 'made') {
    const reference = charge.is === 'unknown' ? charge.reference : undefined;
    emit('unresolved', reference);
    throw unresolvedKeyError(context, reference);
  }
  const { reference } = charge.result;
  const result = operation.storedOutput.safeParse(charge.result);
  if (!result.success) throw unreadableResultError(context, reference);
  const mismatches = operation.findMismatches(result.data, call.request);
  if (mismatches.length > 0)
    throw new TransactionMismatchError(result.data, mismatches, {
      operation: context.operation,
      outcome: 'unknown',
      redact: { id: context.redactId },
    });
  emit('replayed', reference);
  return result.data;
}

/** @throws {OutcomeUnknownError} if the charge is not, for certain, that of the key. */
function assertOwn(
  record: LedgerRecord | null,
  attempt: string,
  reference: string,
  context: KeyContext,
  emit: Emit,
): void {
  const own = record?.payments.find((payment) => payment.attempt === attempt);
  if (own?.charge.is === 'made' && own.charge.result.reference === reference) return;
  emit('unresolved', reference);
  const isShared = own?.charge.is === 'unknown' && own.charge.why === 'shared_reference';
  throw isShared ? sharedReferenceError(context, reference) : resolvedMeanwhileError(context, reference);
}
