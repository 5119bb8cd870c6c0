/** Sends the request of a claimed payment, and records what came of it before anybody hears of it. */

import type { ClientAccess } from '../client-access.ts';
import {
  type AnyTransaction,
  APIError,
  OutcomeUnknownError,
  PaymentsError,
  TransactionMismatchError,
} from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import { Attempt, type AttemptFacts, type RequestOutcome } from '../journal/attempt.ts';
import { JOURNAL_TIMEOUT } from '../journal/call-store.ts';
import type { Records } from '../journal/records.ts';
import type { LedgerRecord, RecordedError, RecordedResult } from '../ledger/record.ts';
import { detectMode } from '../normalize-options.ts';
import type { Redact } from '../redact.ts';
import { CallerAborted, withDeadline } from '../timing.ts';
import { orUndefined, stringField } from '../untrusted.ts';
import type { CreateRequest, Decided, KeyedCall, Origin } from './claim.ts';
import { type KeyContext, leaseExpiredError, modeChangedError, notSentError } from './key-errors.ts';

/** A payment that this process has claimed. */
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
export interface Sent<Result> {
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
): Promise<Sent<Result>> {
  const { call } = keyed;
  const attempt = new Attempt(records, facts, decided.found, decided.requestedAt);
  const assertHeld = () => {
    if (!attempt.isHeld) throw leaseExpiredError(context);
  };
  const record = (outcome: RequestOutcome) => recordOutcome(access, attempt, context, outcome, call.signal);
  let response: Awaited<ReturnType<typeof access.send<Input, Request, Result>>>;
  try {
    response = await access.send({
      ...call,
      redactedKey: () => context.redactedKey,
      apiKey: hasWaited ? undefined : origin.apiKey,
      requestId,
      lease: attempt,
      async beforeRetry(retry) {
        assertHeld();
        await attempt.recordRequest(retry.requestId, assertHeld).catch((error: unknown) => {
          assertHeld();
          throw notSentError(context, error);
        });
        assertHeld();
      },
      beforeSending({ apiKey }) {
        assertHeld();
        if (detectMode(apiKey) !== origin.mode) throw modeChangedError(context);
      },
    });
  } catch (error) {
    const outcome = toOutcome(error, call.signal);
    return { ...(await record(outcome)), result: undefined, error };
  }
  // The service made the charge. Whatever fails from here on, the caller gets its result, and it is recorded.
  const { result, redact } = response;
  const stored = orUndefined(() => toStoredResult(keyed, result, redact)) ?? { reference: result.reference };
  return { ...(await record({ is: 'made', result: stored })), result };
}

/** How long the journal is waited for after the caller's abort, if nothing was sent, in milliseconds. */
const ABORT_GRACE = 1_000;

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
    context.redactedKey,
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

/**
 * Returns what a replay needs of a result. Only the documented fields are stored: any other could hold a customer's name or
 * address. The message is left out, because it announces a prompt that a replay does not send.
 */
function toStoredResult<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { operation }: KeyedCall<Input, Request, Result>,
  result: Result,
  redact: () => Redact,
): RecordedResult {
  const { reference, amount, currency } = result;
  const fields = operation.name === 'initialize' ? pickPage(result, redact) : pickStatus(result, redact);
  return { reference, amount, currency, ...fields };
}

/** Returns the status, and the time of a payment. */
function pickStatus(result: object, redact: () => Redact): object {
  const status = stringField(result, 'raw_status') ?? stringField(result, 'status');
  const paidAt = stringField(result, 'paid_at');
  return {
    ...(status === undefined ? {} : { status: toStoredStatus(status, redact) }),
    ...(paidAt !== undefined && STORABLE_TIME.test(paidAt) ? { paid_at: paidAt } : {}),
  };
}

/** Only what has the form of a status is stored. Any other text could hold a customer's name, and what is redacted a phone number. */
export function toStoredStatus(status: string, redact?: () => Redact): string {
  const isWord = /^[\w-]{1,40}$/.test(status);
  return isWord && (!redact || redact()(status) === status) ? status : 'unrecognised';
}

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
