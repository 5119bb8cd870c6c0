import { IdempotencyConflictError } from '../errors.ts';
import type { JournalEvent, Report } from '../events.ts';
import type { Journal } from '../journal/journal.ts';
import type { AnyTransaction } from '../request-errors.ts';
import type { Send } from '../transport/transport.ts';
import { attemptOf, type Creation, type CreationCall } from './attempt.ts';
import { inDoubt } from './doubt.ts';
import { resultFrom } from './recorded-result.ts';
import { sendClaimed } from './send-claimed.ts';
import { standingOnceSettled } from './standing.ts';

export interface Surroundings {
  journal: Journal;
  send: Send;
  report: Report;
  /** Ends the wait for another call when the client is closed. */
  closing: AbortSignal;
}

/**
 * Sends a call at most once for each key, through a crash at any instant: the intent is recorded before anything is
 * sent, and how it ended afterwards. Where the record leaves any doubt, nothing is sent.
 */
export async function atMostOnce<Input, Request extends Creation, Result extends AnyTransaction>(
  { journal, send, report, closing }: Surroundings,
  key: string,
  call: CreationCall<Input, Request, Result>,
): Promise<Result> {
  const { operation, signal } = call;
  const { name } = operation;
  const tell = (result: JournalEvent['result'], reference?: string) =>
    report({ type: 'journal', operation: name, result, ...(reference ? { reference } : {}) });

  const { standing, asked } = await standingOnceSettled(journal, key, await attemptOf(key, call), {
    signal: signal ? AbortSignal.any([signal, closing]) : closing,
    onWaiting: () => tell('waiting'),
  });
  switch (standing.state) {
    case 'begun':
      return sendClaimed({ journal, send, tell }, standing.claim, asked, call);
    case 'completed': {
      const { reference } = standing.result;
      const result = resultFrom(operation, standing.result);
      if (!result)
        throw inDoubt(name, 'The result that is recorded under this key cannot be read.', reference);
      tell('answered', reference);
      return result;
    }
    case 'unknown':
      tell('in_doubt', standing.reference);
      throw inDoubt(name, 'An earlier try under this key never learned its outcome.', standing.reference);
    case 'conflict':
      throw new IdempotencyConflictError(
        `${name}: this idempotencyKey was used before with other input. Nothing was sent. Where the first charge was ` +
          'refused and its input mended, take another key, or free this one with journal.resolve.',
        name,
      );
  }
}
