/**
 * At most one charge for each `idempotencyKey`, through a crash at any time. The service has no idempotency key, so the
 * journal decides whether a request is sent.
 *
 * 1. Claim: the journal records `begun` before anything is sent (claim.ts, `acquireClaim`).
 * 2. Heartbeat: while the request is in flight, the claim is renewed (claim.ts, `ClaimLease`).
 * 3. Send: only under a claim whose lease has not expired.
 * 4. Complete: the outcome is recorded before the caller gets it.
 *
 * If the record leaves the outcome unknown, nothing is sent until a person resolves the key. The states, and what a crash
 * leaves at each step, are drawn in docs/reference/idempotency-states.md.
 */

import type { CallsInFlight } from '../calls-in-flight.ts';
import { type AnyTransaction, APIError, ClosedError, OutcomeUnknownError, PaymentsError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import { type CallResult, resolveApiKey } from '../http/attempt.ts';
import { REQUEST_ID, type RequestIds } from '../http/request-id.ts';
import type { Send } from '../http/send.ts';
import type { Claim, JournalCore } from '../journal/core.ts';
import type { Completion, OrderMark, RecordedError } from '../journal/record.ts';
import { reportWarnings } from '../journal/warnings.ts';
import { detectMode } from '../normalize-options.ts';
import type { Mode, NormalizedOptions } from '../options.ts';
import type { Redact } from '../redact.ts';
import { linkSignals } from '../timing.ts';
import { orUndefined, stringField } from '../untrusted.ts';
import { type AcquiredClaim, acquireClaim, ClaimLease } from './claim.ts';
import {
  type CreateRequest,
  createIntent,
  digestService,
  type KeyedCall,
  validateIdempotencyKey,
} from './fingerprint.ts';
import {
  closedKeyError,
  conflictError,
  createKeyContext,
  type KeyContext,
  modeChangedError,
  otherOwnerError,
  otherServiceError,
  resolvedMeanwhileError,
  SHARED_REFERENCE,
  sharedReferenceError,
  unreadableRecordError,
  unreadableResultError,
  unresolvedKeyError,
} from './key-errors.ts';

/** The client that a call with a key is sent by. */
export interface KeyedSender {
  readonly client: NormalizedOptions;
  readonly journal: JournalCore;
  readonly send: Send;
  readonly requestIds: RequestIds;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  /** What `close` waits for. */
  readonly calls: CallsInFlight;
}

/** The result of a call with a key; without `result`, the key is used by `order`, or by none, and nothing was sent. */
export type KeyedResult<Result> =
  | { readonly result: Result }
  | { readonly result: undefined; readonly usedBy: OrderMark | undefined };

/** As {@link sendForOwner}. @throws {ConfigurationError} if the key is a payment of an order. */
export async function sendAtMostOnce<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  sender: KeyedSender,
  keyed: KeyedCall<Input, Request, Result>,
): Promise<Result> {
  const { result } = await sendForOwner(sender, keyed);
  if (result === undefined) throw otherOwnerError(createKeyContext(keyed, sender.client.redactReference));
  return result;
}

/** Sends a call at most once for its key, replays its recorded result, or throws if the outcome is unknown. */
export async function sendForOwner<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  sender: KeyedSender,
  keyed: KeyedCall<Input, Request, Result>,
): Promise<KeyedResult<Result>> {
  const { client, journal } = sender;
  validateIdempotencyKey(keyed.idempotencyKey, keyed.operation.name);
  const context = createKeyContext(keyed, client.redactReference);
  const emit: Emit = (result, reference) =>
    client.report({
      type: 'journal',
      operation: context.operation,
      idempotencyKey: context.redactedKey,
      result,
      ...(reference ? { reference: context.redactId(reference) } : {}),
    });

  // A crash up to here leaves the record as it was: nothing was sent, and the next call decides anew.
  const { outcome, mode, ...acquired } = await claimKey(sender, keyed, context, () => emit('waiting'));
  reportWarnings(journal, client.report);
  switch (outcome.state) {
    case 'claimed': {
      const held = { ...acquired, claim: outcome.claim, mode, context, emit };
      return { result: await sendUnderClaim(sender, keyed, held) };
    }
    case 'completed': {
      const { reference } = outcome.result;
      const result = parseStoredResult(keyed, outcome.result);
      if (!result) throw unreadableResultError(context, reference);
      emit('replayed', reference);
      return { result };
    }
    case 'unknown':
      emit('unresolved', outcome.reference);
      throw unresolvedKeyError(context, outcome.reference);
    case 'closed':
      throw closedKeyError(context, outcome.reference);
    case 'unreadable':
      emit('unresolved');
      throw unreadableRecordError(context, outcome.why, outcome.cause);
    case 'conflict':
      throw conflictError(context, outcome.found);
    case 'other_owner':
      return { result: undefined, usedBy: outcome.order };
    case 'other_service': {
      const otherMode = mode === 'test' ? 'unknown' : 'test';
      const isOtherMode = outcome.service === (await digestService(client.baseUrl, otherMode));
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
  { client, journal, requestIds, closing, calls }: KeyedSender,
  keyed: KeyedCall<Input, Request, Result>,
  context: KeyContext,
  onWaiting: () => void,
): Promise<ClaimedKey> {
  const { call, idempotencyKey } = keyed;
  const { signal, release } = linkSignals(call.signal, closing, () => new ClosedError(context.operation));
  try {
    const apiKey = await resolveApiKey(client, context.operation, { signal, timeout: call.timeout });
    const mode = detectMode(apiKey);
    const ownId = call.headers[REQUEST_ID];
    const requestId = ownId ?? requestIds.create();
    const recordedId = ownId === undefined ? requestId : context.redactId(ownId);
    const intent = await createIntent(keyed, await digestService(client.baseUrl, mode), recordedId);
    const acquired = await acquireClaim(journal, idempotencyKey, intent, {
      context,
      signal,
      calls,
      onWaiting,
    });
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
  { client, journal, send }: KeyedSender,
  keyed: KeyedCall<Input, Request, Result>,
  { claim, requestedAt, mode, apiKey, requestId, context, emit }: HeldKey,
): Promise<Result> {
  const { call } = keyed;
  const lease = new ClaimLease(journal, claim, requestedAt);
  try {
    await keyed.confirm?.(claim.history.attempts);
  } catch (error) {
    await lease.complete({ state: 'not_sent' }, call.signal);
    throw error;
  }
  let response: CallResult<Result>;
  try {
    response = await send({
      ...call,
      redactedKey: () => context.redactedKey,
      apiKey,
      requestId,
      lease,
      beforeRetry: (attempt) => lease.recordAttempt(attempt.requestId, context),
      beforeSending(attempt) {
        lease.assertHeld(context);
        if (detectMode(attempt.apiKey) !== mode) throw modeChangedError(context);
      },
    });
  } catch (error) {
    // A crash before this is written leaves `begun`, also if no charge exists: unresolved, and never charged twice.
    const recorded = await lease.complete(completionForError(error, call.signal), call.signal);
    if (recorded === 'failed') emit('not_recorded');
    throw error;
  }

  // The service made the charge. Whatever fails from here on, the caller gets its result, and the claim is completed.
  const { result, redact } = response;
  const { reference } = result;
  const stored = orUndefined(() => toStoredResult(keyed, result, redact));
  // A result that cannot be replayed whole leaves the key unresolved, with its reference.
  const { initialDelay, timeout } = client.polling.rules;
  const isShared = await isOfOtherKey(journal, claim.key, reference);
  const completion: Completion = isShared
    ? { state: 'unknown', reference, error: { code: SHARED_REFERENCE, status: null } }
    : stored
      ? { state: 'completed', result: stored, firstCheckIn: Math.min(initialDelay, timeout) }
      : { state: 'unknown', reference };
  // A crash before this is written leaves `begun`, with a charge. A crash after it: the next call replays the result.
  const recorded = await lease.complete(completion);
  if (recorded === 'failed') emit('not_recorded', reference);
  if (recorded === 'lost' && !(await isRecordedAs(journal, claim.key, reference))) {
    emit('unresolved', reference);
    throw resolvedMeanwhileError(context, reference);
  }
  if (isShared) {
    emit('unresolved', reference);
    throw sharedReferenceError(context, reference);
  }
  return result;
}

/**
 * Whether another key has the transaction. A service that suppresses duplicates returns that of the first charge for an
 * equal second one: no charge of this key is proven then. If the journal cannot say, follow-ups look again.
 */
async function isOfOtherKey({ followUps }: JournalCore, key: string, reference: string): Promise<boolean> {
  try {
    const found = await followUps.find(reference);
    return found.some((other) => other.key !== key);
  } catch {
    return false;
  }
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
async function isRecordedAs(journal: JournalCore, key: string, reference: string): Promise<boolean> {
  try {
    const entry = await journal.read(key);
    return entry?.state === 'completed' && entry.reference === reference;
  } catch {
    return false;
  }
}

/**
 * Returns what a replay needs of a result, or `undefined` if that must not be stored. Only the documented fields are: any
 * other could hold a customer's name or address. The message is left out, because it announces a prompt that a replay
 * does not send.
 */
function toStoredResult<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  keyed: KeyedCall<Input, Request, Result>,
  result: Result,
  redact: () => Redact,
): { reference: string } | undefined {
  const { reference, amount, currency } = result;
  const fields =
    keyed.operation.name === 'initialize' ? pickPage(result, redact) : pickStatus(result, redact);
  const stored = { reference, amount, currency, ...fields };
  return parseStoredResult(keyed, stored) && stored;
}

/** Returns the status, and the time of a payment. A status that is not documented is stored only if it has the form of one. */
function pickStatus(result: object, redact: () => Redact): object {
  const rawStatus = stringField(result, 'raw_status');
  const status = rawStatus === undefined ? stringField(result, 'status') : toStoredStatus(rawStatus, redact);
  const paidAt = stringField(result, 'paid_at');
  return {
    ...(status === undefined ? {} : { status }),
    ...(paidAt !== undefined && STORABLE_TIME.test(paidAt) ? { paid_at: paidAt } : {}),
  };
}

/** Any other text could hold a customer's name, and what is redacted a phone number. */
const toStoredStatus = (status: string, redact: () => Redact) =>
  /^[\w-]{1,40}$/.test(status) && redact()(status) === status ? status : 'unrecognised';

const STORABLE_TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)$/;

/** How long an address of a checkout page is stored, in characters: all of it is searched for what must not be stored. */
const MAX_STORED_CHARS = 16 * 1024;

/**
 * Returns the address of a checkout page, unless it holds the customer's own email or an API key. It must not be stored
 * then, and would not open the page without them. Another email (`/@shop`, a help desk) is part of the address.
 */
function pickPage(result: object, redact: () => Redact): object {
  const address = stringField(result, 'checkout_url');
  if (address === undefined || address.length > MAX_STORED_CHARS) return {};
  return redact().own(address) === address ? { checkout_url: address } : {};
}

/**
 * Returns a stored result as a replay; `undefined` if it is not one of this operation, or not of the requested amount and
 * currency.
 */
function parseStoredResult<Input, Request extends CreateRequest, Result>(
  { operation, call }: KeyedCall<Input, Request, Result>,
  stored: object,
): Result | undefined {
  const result = operation.storedOutput.safeParse(stored);
  if (!result.success || operation.findMismatches(result.data, call.request).length > 0) return undefined;
  return result.data;
}
