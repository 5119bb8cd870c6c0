/** Sends the request of a claimed payment, and records what came of it before anybody hears of it. */

import { detectMode } from '../api-key.ts';
import type { ClientAccess } from '../client-access.ts';
import {
  type AnyTransaction,
  APIError,
  OutcomeUnknownError,
  PaymentsError,
  TransactionMismatchError,
} from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { SendLease } from '../http/gate.ts';
import { Attempt, type AttemptFacts, type RequestOutcome } from '../journal/attempt.ts';
import { JOURNAL_TIMEOUT } from '../journal/call-store.ts';
import type { Records } from '../journal/records.ts';
import type { LedgerRecord, RecordedError } from '../ledger/record.ts';
import { CallerAborted, withDeadline } from '../support/timing.ts';
import { orUndefined, stringField } from '../support/untrusted.ts';
import { ABORT_GRACE, type CreateRequest, type Decided, type KeyedCall, type Origin } from './claim.ts';
import { type KeyContext, leaseExpiredError, modeChangedError, notSentError } from './key-errors.ts';
import { toStoredResult, toStoredStatus } from './stored-result.ts';

export interface Claim {
  readonly facts: AttemptFacts;
  readonly decided: Decided;
  readonly origin: Origin;
  /** Of the first request. The claim has recorded it. */
  readonly requestId: string;
  /** Whether another call was waited for: the API key might have been rotated meanwhile. */
  readonly hasWaited: boolean;
}

/** How a request ended, and the record after that. */
export interface RecordedSend<Result> {
  readonly record: LedgerRecord | null;
  /** `false`: the journal did not take the outcome yet. It is tried on. */
  readonly isRecorded: boolean;
  /** Without a result, the request failed. */
  readonly result: Result | undefined;
  readonly error?: unknown;
}

/** Reports what happened to a call under its key. */
export type Emit = (result: JournalEvent['result'], reference?: string) => void;

export function createEmit({ client }: ClientAccess, context: KeyContext): Emit {
  return (result, reference) =>
    client.report({
      type: 'journal',
      operation: context.operation,
      idempotencyKey: context.redactedKey,
      result,
      ...(reference ? { reference: context.redactId(reference) } : {}),
    });
}

/**
 * Sends under a claim. A crash before the outcome is recorded leaves the claim: after its lease the payment is unresolved, because
 * the request might have been sent.
 */
export async function sendClaimed<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  access: ClientAccess,
  records: Records,
  keyed: KeyedCall<Input, Request, Result>,
  context: KeyContext,
  { facts, decided, origin, requestId, hasWaited }: Claim,
): Promise<RecordedSend<Result>> {
  const { call } = keyed;
  const attempt = new Attempt(records, facts, decided.found, decided.requestedAt);
  const assertHeld = () => {
    if (!attempt.isHeld) throw leaseExpiredError(context);
  };
  const lease: SendLease = {
    get redactedKey() {
      return context.redactedKey;
    },
    first: { apiKey: hasWaited ? undefined : origin.apiKey, requestId },
    get isHeld() {
      return attempt.isHeld;
    },
    over: attempt.over,
    async admit(request) {
      if (detectMode(request.apiKey) !== origin.mode) throw modeChangedError(context);
      if (request.attempt === 1) return;
      await attempt.recordRequest(request.requestId, assertHeld).catch((error: unknown) => {
        assertHeld();
        throw notSentError(context, error);
      });
    },
    assertHeld,
  };
  const record = (outcome: RequestOutcome) => recordOutcome(access, attempt, context, outcome, call.signal);
  let response: Awaited<ReturnType<typeof access.send<Input, Request, Result>>>;
  try {
    response = await access.send({ ...call, lease });
  } catch (error) {
    const outcome = toOutcome(error, call.signal);
    return { ...(await record(outcome)), result: undefined, error };
  }
  // The service made the charge. Whatever fails from here on, the caller gets its result, and it is recorded.
  const { result, redact } = response;
  const stored = orUndefined(() => toStoredResult(keyed.operation.name, result, redact)) ?? {
    reference: result.reference,
  };
  return { ...(await record({ is: 'made', result: stored })), result };
}

/** After this time, an outcome that is not recorded yet is reported, in milliseconds: the process might not live until it is. */
const REPORT_AFTER = 5_000;

/** Waits for the record of an outcome, but not for a journal that takes nothing: that goes on, and `close` waits for it. */
async function recordOutcome(
  access: ClientAccess,
  attempt: Attempt,
  context: KeyContext,
  outcome: RequestOutcome,
  signal: AbortSignal | undefined,
): Promise<{ record: LedgerRecord | null; isRecorded: boolean }> {
  const emit = createEmit(access, context);
  const { reference } = outcome.is === 'made' ? outcome.result : { reference: undefined, ...outcome };
  const recording = access.calls.track(
    async () => ({ record: await attempt.record(outcome), isRecorded: true }),
    context.operation,
    attempt.facts.name.id,
  );
  const waitFor = (timeout: number, end?: AbortSignal) => withDeadline(timeout, end, () => recording);
  waitFor(REPORT_AFTER).catch(() => emit('not_recorded', reference));
  try {
    return await waitFor(JOURNAL_TIMEOUT, outcome.is === 'none' ? signal : undefined).catch(
      (error: unknown) => {
        if (error instanceof CallerAborted) return waitFor(ABORT_GRACE);
        throw error;
      },
    );
  } catch {
    return { record: attempt.expect(outcome), isRecorded: false };
  }
}

/** Only a proof that no charge exists lets the payment be charged again. */
function toOutcome(error: unknown, signal: AbortSignal | undefined): RequestOutcome {
  // If a request had been sent, an abort is an OutcomeUnknownError instead.
  if (signal?.aborted && Object.is(error, signal.reason)) return { is: 'none', why: 'not_sent' };
  if (!(error instanceof PaymentsError)) return { is: 'unknown' };
  const recorded = toRecordedError(error);
  if (error.outcome === 'not_sent' || error.outcome === 'rejected')
    return { is: 'none', why: error.outcome, error: recorded };
  if (error instanceof TransactionMismatchError && isAboutMoney(error)) {
    const { reference, amount, currency } = error.transaction;
    const other = { amount, currency };
    const status = stringField(error.transaction, 'status');
    return {
      is: 'made',
      result: { reference, ...other, ...(status && { status: toStoredStatus(status) }) },
      other,
    };
  }
  const reference = 'reference' in error && typeof error.reference === 'string' ? error.reference : undefined;
  return { is: 'unknown', reference, error: recorded };
}

/** The transaction is that of the request, of another amount. */
const isAboutMoney = ({ mismatches }: TransactionMismatchError) =>
  mismatches.every(({ field }) => field === 'amount' || field === 'currency');

/** Why the outcome is unknown is in the cause. */
function toRecordedError(error: PaymentsError): RecordedError {
  const { cause } = error;
  const reason = error instanceof OutcomeUnknownError && cause instanceof PaymentsError ? cause : error;
  return { code: reason.code, status: reason instanceof APIError ? reason.status : null };
}
