import { PaymentsError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import type { Ending } from '../journal/record.ts';
import { orNothing } from '../or-nothing.ts';
import type { AnyTransaction } from '../request-errors.ts';
import type { Answer } from '../transport/attempt.ts';
import { within } from '../transport/deadline.ts';
import type { Send } from '../transport/transport.ts';
import type { Creation, CreationCall } from './attempt.ts';
import { inDoubt, type Subject } from './doubt.ts';
import { HeldClaim } from './held-claim.ts';
import type { Moment } from './moment.ts';
import { PATIENCE } from './patience.ts';
import { recordable } from './recorded-result.ts';

interface Surroundings {
  journal: Journal;
  send: Send;
  subject: Subject;
  tell: (result: JournalEvent['result'], reference?: string) => void;
}

/** Sends under a claim, and records how it ended before the caller hears of it. */
export async function sendClaimed<Input, Request extends Creation, Result extends AnyTransaction>(
  { journal, send, subject, tell }: Surroundings,
  claim: Claim,
  begunAt: Moment,
  call: CreationCall<Input, Request, Result>,
): Promise<Result> {
  const { name } = call.operation;
  const held = new HeldClaim(journal, claim, begunAt);
  let answer: Answer<Result>;
  try {
    answer = await send({ ...call, beforeSending: () => held.check(name) });
  } catch (error) {
    const recorded = await held.end(endingOf(error, call.signal));
    if (recorded === 'failed') tell('not_recorded');
    throw error;
  }

  const { result, redact } = answer;
  const { reference } = result;
  // Whatever fails here, a charge was made: the caller gets its result, and the claim comes to an end.
  const kept = orNothing(() => recordable(call, result, redact()));
  // A result that could not be given again is left to whoever looks: the key can then be settled.
  const recorded = await held.end(
    kept ? { state: 'completed', result: kept } : { state: 'unknown', reference },
  );
  if (recorded === 'failed') tell('not_recorded', reference);
  if (recorded === 'lost' && !(await holds(journal, claim.key, reference))) {
    tell('in_doubt', reference);
    const what = `The service took it as ${subject.print(reference)}, but the key had been settled otherwise meanwhile.`;
    throw inDoubt(subject, what, reference);
  }
  return result;
}

/** Only what proves that no charge exists lets the key be used again. */
function endingOf(error: unknown, signal: AbortSignal | undefined): Ending {
  // Where a request had left, an abort is an OutcomeUnknownError instead.
  if (signal?.aborted && Object.is(error, signal.reason)) return { state: 'not_sent' };
  if (!(error instanceof PaymentsError)) return { state: 'unknown' };
  if (error.outcome === 'not_sent' || error.outcome === 'rejected') return { state: error.outcome };
  const reference = 'reference' in error && typeof error.reference === 'string' ? error.reference : undefined;
  return { state: 'unknown', reference };
}

/** Whether somebody recorded the same charge meanwhile. */
async function holds(journal: Journal, key: string, reference: string): Promise<boolean> {
  try {
    const entry = await within(PATIENCE, undefined, async () => journal.read(key));
    return entry?.state === 'completed' && entry.result.reference === reference;
  } catch {
    return false;
  }
}
