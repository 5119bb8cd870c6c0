import { ConfigurationError, IdempotencyConflictError } from '../errors.ts';
import type { JournalEvent, Report } from '../events.ts';
import type { Journal } from '../journal/journal.ts';
import { createRedact } from '../redact.ts';
import { type AnyTransaction, OutcomeUnknownError } from '../request-errors.ts';
import { eitherSignal } from '../transport/either-signal.ts';
import { textField } from '../transport/request.ts';
import type { Send } from '../transport/transport.ts';
import { attemptOf, type Creation, type CreationCall, checkedKey } from './attempt.ts';
import { inDoubt, notUnderstood, type Subject } from './doubt.ts';
import { resultFrom } from './recorded-result.ts';
import { sendClaimed } from './send-claimed.ts';
import { standingOnceSettled } from './standing.ts';

const NO_JOURNAL =
  'idempotencyKey needs a journal: without one, at most one charge for each key could not be promised over a restart.';

export interface Surroundings {
  journal: Journal | undefined;
  send: Send;
  report: Report;
  /** Ends the wait for another call when the client is closed. */
  closing: AbortSignal;
  /** A reference as it may be printed, as far as the client knows. */
  showReference: (reference: string) => string;
}

/**
 * Sends a call at most once for each key, through a crash at any instant: the intent is recorded before anything is
 * sent, and how it ended afterwards. Where the record leaves any doubt, nothing is sent.
 */
export async function atMostOnce<Input, Request extends Creation, Result extends AnyTransaction>(
  { journal, send, report, closing, showReference }: Surroundings,
  idempotencyKey: string,
  call: CreationCall<Input, Request, Result>,
): Promise<Result> {
  const { operation, request } = call;
  const { name } = operation;
  if (!journal) throw new ConfigurationError(NO_JOURNAL, { operation: name });
  const key = checkedKey(idempotencyKey, name);
  const redact = createRedact([], textField(request, 'phone'), textField(request, 'customer_email'));
  const print = (id: string) => showReference(redact.id(id));
  const shown = print(key);
  const subject = { operation: name, key: JSON.stringify(shown), print };
  const tell = (result: JournalEvent['result'], reference?: string) =>
    report({
      type: 'journal',
      operation: name,
      idempotencyKey: shown,
      result,
      ...(reference ? { reference: print(reference) } : {}),
    });

  const attempt = await attemptOf(key, call);
  const { signal, release } = eitherSignal(name, call.signal, closing);
  const onWaiting = () => tell('waiting');
  const { standing, asked } = await standingOnceSettled(journal, key, attempt, {
    subject,
    signal,
    onWaiting,
  }).finally(release);
  switch (standing.state) {
    case 'begun':
      return sendClaimed({ journal, send, subject, tell }, standing.claim, asked, call);
    case 'completed': {
      const { reference } = standing.result;
      const result = resultFrom(call, standing.result);
      if (!result) throw unreadable(subject, reference);
      tell('answered', reference);
      return result;
    }
    case 'unknown': {
      tell('in_doubt', standing.reference);
      const what = 'An earlier try under this key never learned its outcome, and nothing was sent now.';
      throw inDoubt(subject, what, standing.reference);
    }
    case 'unreadable':
      tell('in_doubt');
      throw notUnderstood(subject, standing.why, standing.cause);
    case 'conflict':
      throw conflict(subject);
  }
}

function unreadable({ operation, key, print }: Subject, reference: string): OutcomeUnknownError {
  const shown = print(reference);
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: The journal holds ${shown} as the result, but the rest of its record ` +
      `cannot be read. Nothing was sent. Do not charge again: verify ${shown}.`,
    { operation, cause: undefined, reference, shown },
  );
}

function conflict({ operation, key }: Subject): IdempotencyConflictError {
  return new IdempotencyConflictError(
    `${operation}: the idempotencyKey ${key} was used before with other input. Nothing was sent. For something else ` +
      'that is paid for, take a key of its own. For the same order with its input mended, look first: where ' +
      `journal.read(${key}) says "rejected" or "not_sent", nothing was charged, and ` +
      `journal.resolve(${key}, 'not_charged') frees the key; in any other state a charge may exist.`,
    operation,
  );
}
