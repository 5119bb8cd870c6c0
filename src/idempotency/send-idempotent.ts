/**
 * The at-most-once protocol: one charge at most for each `idempotencyKey`, through a crash at any time. The service has
 * no idempotency key, so the journal decides whether a request is sent.
 *
 * 1. Claim: the journal records `begun` before anything is sent (claim.ts, `acquireClaim`).
 * 2. Heartbeat: while the request is in flight, the claim is renewed (claim.ts, `ClaimLease`).
 * 3. Send: only under a claim whose lease has not expired.
 * 4. Complete: the outcome is recorded before the caller gets it.
 *
 * If the record leaves the outcome unknown, nothing is sent until a person resolves the key. The states, and what a crash
 * leaves at each step, are drawn in docs/reference/idempotency-states.md.
 */

import { type AnyTransaction, APIError, ClosedError, OutcomeUnknownError, PaymentsError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { Claim, Journal, Protocol } from '../journal/journal.ts';
import type { Completion, RecordedError } from '../journal/record.ts';
import { reportWarnings } from '../journal/warnings.ts';
import type { Mode } from '../options.ts';
import { detectMode } from '../resolve-options.ts';
import { linkSignals, withTimeout } from '../timing.ts';
import { orUndefined } from '../untrusted.ts';
import { type AcquiredClaim, acquireClaim, ClaimLease, JOURNAL_TIMEOUT } from './claim.ts';
import { createIntent, digestService, validateIdempotencyKey } from './fingerprint.ts';
import {
  conflictError,
  createKeyContext,
  type KeyContext,
  modeChangedError,
  otherServiceError,
  resolvedMeanwhileError,
  unreadableRecordError,
  unreadableResultError,
  unresolvedKeyError,
} from './key-errors.ts';
import type { CreateRequest, KeyedCall } from './keyed-call.ts';
import { resolveKeyAtService } from './resolve-at-service.ts';
import { parseStoredResult, toStoredResult } from './stored-result.ts';

/**
 * The at-most-once protocol, for a journal that {@link createJournal} did not make: the client charges by the protocol
 * of its journal.
 *
 * @example
 * ```ts
 * import { type Journal, memoryJournal, protocol } from 'payment-collection-client/journal';
 *
 * const inner = memoryJournal();
 * const journal: Journal = {
 *   ...inner,
 *   protocol,
 *   async claim(key, intent) {
 *     const result = await inner.claim(key, intent);
 *     console.log(key, result.state);
 *     return result;
 *   },
 * };
 * ```
 */
export const protocol: Protocol = { version: 1, send: sendIdempotent, resolve: resolveKeyAtService };

/** Sends a call at most once for its key, replays its recorded result, or throws if the outcome is unknown. */
async function sendIdempotent<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  journal: Journal,
  call: KeyedCall<Input, Request, Result>,
): Promise<Result> {
  validateIdempotencyKey(call.idempotencyKey, call.operation.name);
  const context = createKeyContext(call);
  const emit: Emit = (result, reference) =>
    call.report({
      type: 'journal',
      operation: context.operation,
      idempotencyKey: context.redactedKey,
      result,
      ...(reference ? { reference: context.redactId(reference) } : {}),
    });

  // A crash up to here leaves the record as it was: nothing was sent, and the next call decides anew.
  const { outcome, mode, ...acquired } = await claimKey(journal, call, context, () => emit('waiting'));
  reportWarnings(journal, call.report);
  switch (outcome.state) {
    case 'claimed':
      return sendUnderClaim(journal, call, { ...acquired, claim: outcome.claim, mode, context, emit });
    case 'completed': {
      const { reference } = outcome.result;
      const result = parseStoredResult(call, outcome.result);
      if (!result) throw unreadableResultError(context, reference);
      emit('replayed', reference);
      return result;
    }
    case 'unknown':
      emit('unresolved', outcome.reference);
      throw unresolvedKeyError(context, outcome.reference);
    case 'unreadable':
      emit('unresolved');
      throw unreadableRecordError(context, outcome.why, outcome.cause);
    case 'conflict':
      throw conflictError(context, outcome.found);
    case 'other_service': {
      const otherMode = mode === 'test' ? 'unknown' : 'test';
      const isOtherMode = outcome.service === (await digestService(call.baseUrl, otherMode));
      throw otherServiceError(context, mode, isOtherMode);
    }
  }
}

type Emit = (result: JournalEvent['result'], reference?: string) => void;

interface ClaimedKey extends AcquiredClaim {
  /** The mode that the claim is for. */
  readonly mode: Mode;
  /** Of the first attempt. The claim has recorded it. */
  readonly requestId: string;
  /** For the first attempt, unless another call was waited for: the key might have been rotated meanwhile. */
  readonly apiKey: string | undefined;
}

/** A journal belongs to one mode, and only the API key shows the mode: so the key is asked for before the claim. */
async function claimKey<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  journal: Journal,
  call: KeyedCall<Input, Request, Result>,
  context: KeyContext,
  onWaiting: () => void,
): Promise<ClaimedKey> {
  const { signal, release } = linkSignals(
    call.signal,
    call.closing,
    () => new ClosedError(context.operation),
  );
  try {
    const apiKey = await call.resolveApiKey(signal);
    const mode = detectMode(apiKey);
    const requestId = call.createRequestId();
    const recordedId = context.redactId(requestId);
    const intent = await createIntent(call, await digestService(call.baseUrl, mode), recordedId);
    const acquired = await acquireClaim(journal, call.idempotencyKey, intent, { context, signal, onWaiting });
    return { ...acquired, mode, requestId, apiKey: acquired.hasWaited ? undefined : apiKey };
  } finally {
    release();
  }
}

interface HeldKey extends Pick<ClaimedKey, 'mode' | 'apiKey' | 'requestId' | 'requestedAt'> {
  readonly claim: Claim;
  readonly context: KeyContext;
  readonly emit: Emit;
}

/**
 * Sends under a claim and records the outcome before the caller gets it. A crash from here on, until `complete` is
 * written, leaves `begun`: after the lease it reads as `unknown`, because the request might have been sent.
 */
async function sendUnderClaim<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  journal: Journal,
  call: KeyedCall<Input, Request, Result>,
  { claim, requestedAt, mode, apiKey, requestId, context, emit }: HeldKey,
): Promise<Result> {
  const lease = new ClaimLease(journal, claim, requestedAt);
  let response: Awaited<ReturnType<typeof call.send>>;
  try {
    response = await call.send({
      idempotencyKey: context.redactedKey,
      apiKey,
      requestId,
      beforeRetry: (attempt) => lease.recordAttempt(attempt.requestId, context),
      beforeSending(attempt) {
        lease.assertHeld(context);
        if (detectMode(attempt.apiKey) !== mode) throw modeChangedError(context);
      },
    });
  } catch (error) {
    // A crash before this is written leaves `begun`, also if no charge exists: unresolved, and never charged twice.
    const recorded = await lease.complete(completionForError(error, call.signal));
    if (recorded === 'failed') emit('not_recorded');
    throw error;
  }

  // The service made the charge. Whatever fails from here on, the caller gets its result, and the claim is completed.
  const { result, redact } = response;
  const { reference } = result;
  const stored = orUndefined(() => toStoredResult(call, result, redact()));
  // A result that cannot be replayed whole leaves the key unresolved, with its reference.
  const completion: Completion = stored
    ? { state: 'completed', result: stored, firstCheckIn: call.firstCheckIn }
    : { state: 'unknown', reference };
  // A crash before this is written leaves `begun`, with a charge. A crash after it: the next call replays the result.
  const recorded = await lease.complete(completion);
  if (recorded === 'failed') emit('not_recorded', reference);
  if (recorded === 'lost' && !(await isRecordedAs(journal, claim.key, reference))) {
    emit('unresolved', reference);
    throw resolvedMeanwhileError(context, reference);
  }
  return result;
}

/** Only a proof that no charge exists lets the key be used again. */
function completionForError(error: unknown, signal: AbortSignal | undefined): Completion {
  // If a request had been sent, an abort is an OutcomeUnknownError instead.
  if (signal?.aborted && Object.is(error, signal.reason)) return { state: 'not_sent' };
  if (!(error instanceof PaymentsError)) return { state: 'unknown' };
  const recorded = toRecordedError(error);
  if (error.outcome === 'not_sent' || error.outcome === 'rejected')
    return { state: error.outcome, error: recorded };
  const reference = 'reference' in error && typeof error.reference === 'string' ? error.reference : undefined;
  return { state: 'unknown', reference, error: recorded };
}

/** Why the outcome is unknown is in the cause. */
function toRecordedError(error: PaymentsError): RecordedError {
  const { cause } = error;
  const reason = error instanceof OutcomeUnknownError && cause instanceof PaymentsError ? cause : error;
  return { code: reason.code, status: reason instanceof APIError ? reason.status : null };
}

/** Whether a person resolved the key with this same charge while it was in flight. */
async function isRecordedAs(journal: Journal, key: string, reference: string): Promise<boolean> {
  try {
    const entry = await withTimeout(JOURNAL_TIMEOUT, undefined, async () => journal.read(key));
    return entry?.state === 'completed' && entry.reference === reference;
  } catch {
    return false;
  }
}
