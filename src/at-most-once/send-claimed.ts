import { ConfigurationError, PaymentsError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import type { Completion } from '../journal/record.ts';
import type { Mode } from '../options.ts';
import { orUndefined } from '../or-nothing.ts';
import type { AnyTransaction } from '../request-errors.ts';
import { modeOf } from '../resolve-options.ts';
import type { CallResult } from '../transport/attempt.ts';
import { withTimeout } from '../transport/deadline.ts';
import type { Send } from '../transport/transport.ts';
import type { CreateCall, CreateRequest } from './attempt.ts';
import { type KeyContext, resolvedOtherwise } from './doubt.ts';
import { ClaimLease } from './held-claim.ts';
import type { Timestamp } from './moment.ts';
import { JOURNAL_TIMEOUT } from './patience.ts';
import { toStoredResult } from './recorded-result.ts';

interface Surroundings {
  journal: Journal;
  send: Send;
  subject: KeyContext;
  tell: (result: JournalEvent['result'], reference?: string) => void;
  /** The mode that the claim is for. */
  mode: Mode;
}

/** Sends under a claim, and records how it ended before the caller hears of it. */
export async function sendWithClaim<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { journal, send, subject, tell, mode }: Surroundings,
  claim: Claim,
  claimedAt: Timestamp,
  call: CreateCall<Input, Request, Result>,
): Promise<Result> {
  const { name } = call.operation;
  const held = new ClaimLease(journal, claim, claimedAt);
  let answer: CallResult<Result>;
  try {
    const beforeSending: typeof call.beforeSending = ({ apiKey }) => {
      held.assertHeld(name);
      if (modeOf(apiKey) !== mode) throw modeChanged(subject);
    };
    answer = await send({ ...call, idempotencyKey: subject.idempotencyKey, beforeSending });
  } catch (error) {
    const recorded = await held.end(completionForError(error, call.signal));
    if (recorded === 'failed') tell('not_recorded');
    throw error;
  }

  const { result, redact } = answer;
  const { reference } = result;
  // Whatever fails here, a charge was made: the caller gets its result, and the claim comes to an end.
  const kept = orUndefined(() => toStoredResult(call, result, redact()));
  // A result that could not be given again is left to whoever looks: the key can then be settled.
  const recorded = await held.end(
    kept ? { state: 'completed', result: kept } : { state: 'unknown', reference },
  );
  if (recorded === 'failed') tell('not_recorded', reference);
  if (recorded === 'lost' && !(await isRecordedAs(journal, claim.key, reference))) {
    tell('unresolved', reference);
    throw resolvedOtherwise(subject, reference);
  }
  return result;
}

/** A charge of one mode must not be recorded in the journal of the other. */
function modeChanged({ operation, key }: KeyContext): ConfigurationError {
  return new ConfigurationError(
    `${operation}: apiKey gave a key of another mode (test or not) than when idempotencyKey ${key} was claimed. ` +
      'Nothing was sent. Use one client and one journal for each mode.',
    { operation },
  );
}

/** Only what proves that no charge exists lets the key be used again. */
function completionForError(error: unknown, signal: AbortSignal | undefined): Completion {
  // Where a request had left, an abort is an OutcomeUnknownError instead.
  if (signal?.aborted && Object.is(error, signal.reason)) return { state: 'not_sent' };
  if (!(error instanceof PaymentsError)) return { state: 'unknown' };
  if (error.outcome === 'not_sent' || error.outcome === 'rejected') return { state: error.outcome };
  const reference = 'reference' in error && typeof error.reference === 'string' ? error.reference : undefined;
  return { state: 'unknown', reference };
}

/** Whether somebody recorded the same charge meanwhile. */
async function isRecordedAs(journal: Journal, key: string, reference: string): Promise<boolean> {
  try {
    const entry = await withTimeout(JOURNAL_TIMEOUT, undefined, async () => journal.read(key));
    return entry?.state === 'completed' && entry.result.reference === reference;
  } catch {
    return false;
  }
}
