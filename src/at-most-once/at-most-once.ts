import { ConfigurationError, IdempotencyConflictError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { Mode, ResolvedOptions } from '../options.ts';
import { createRedact } from '../redact.ts';
import { type AnyTransaction, howToResolve, OutcomeUnknownError, quotedKey } from '../request-errors.ts';
import { modeOf } from '../resolve-options.ts';
import { currentKey } from '../transport/attempt.ts';
import { eitherSignal } from '../transport/either-signal.ts';
import { textField } from '../transport/request.ts';
import type { Send } from '../transport/transport.ts';
import { attemptOf, type Creation, type CreationCall, checkedKey } from './attempt.ts';
import { inDoubt, notUnderstood, type Subject } from './doubt.ts';
import { reportWarnings } from './journal-warnings.ts';
import { resultFrom } from './recorded-result.ts';
import { sendClaimed } from './send-claimed.ts';
import { serviceDigest } from './service-digest.ts';
import { standingOnceSettled } from './standing.ts';

const NO_JOURNAL =
  'idempotencyKey needs a journal: without one, at most one charge for each key could not be promised over a restart.';

export interface Surroundings {
  client: ResolvedOptions;
  send: Send;
  /** Ends the wait for another call when the client is closed. */
  closing: AbortSignal;
}

/**
 * Sends a call at most once for each key, through a crash at any instant: the intent is recorded before anything is
 * sent, and how it ended afterwards. Where the record leaves any doubt, nothing is sent.
 */
export async function atMostOnce<Input, Request extends Creation, Result extends AnyTransaction>(
  { client, send, closing }: Surroundings,
  idempotencyKey: string,
  call: CreationCall<Input, Request, Result>,
): Promise<Result> {
  const { operation, request } = call;
  const { name } = operation;
  const { journal, report } = client;
  if (!journal) throw new ConfigurationError(NO_JOURNAL, { operation: name });
  const key = checkedKey(idempotencyKey, name);
  const redact = createRedact([], textField(request, 'phone'), textField(request, 'customer_email'));
  const print = (id: string) => client.showReference(redact.id(id));
  const shown = print(key);
  const subject = { operation: name, idempotencyKey: shown, key: quotedKey(shown), print };
  const tell = (result: JournalEvent['result'], reference?: string) =>
    report({
      type: 'journal',
      operation: name,
      idempotencyKey: shown,
      result,
      ...(reference ? { reference: print(reference) } : {}),
    });

  const { signal, release } = eitherSignal(name, call.signal, closing);
  const onWaiting = () => tell('waiting');
  const claiming = async () => {
    // The journal belongs to one mode, and only the API key tells the mode.
    const mode = modeOf(await currentKey(client, name, { signal, timeout: call.timeout }));
    const attempt = await attemptOf(key, call, await serviceDigest(client.baseUrl, mode));
    const found = await standingOnceSettled(journal, key, attempt, { subject, signal, onWaiting });
    return { mode, ...found };
  };
  const { mode, standing, asked } = await claiming().finally(release);
  reportWarnings(journal, report);
  switch (standing.state) {
    case 'begun':
      return sendClaimed({ journal, send, subject, tell, mode }, standing.claim, asked, call);
    case 'completed': {
      const { reference } = standing.result;
      const result = resultFrom(call, standing.result);
      if (!result) throw unreadable(subject, reference);
      tell('answered', reference);
      return result;
    }
    case 'unknown':
      tell('in_doubt', standing.reference);
      throw inDoubt(subject, standing.reference);
    case 'unreadable':
      tell('in_doubt');
      throw notUnderstood(subject, standing.why, standing.cause);
    case 'conflict':
      throw conflict(subject);
    case 'other_service':
      throw await otherService(subject, client.baseUrl, mode, standing.service);
  }
}

function unreadable(
  { operation, idempotencyKey, key, print }: Subject,
  reference: string,
): OutcomeUnknownError {
  const shown = print(reference);
  return new OutcomeUnknownError(
    `${operation}: the journal holds ${shown} for idempotencyKey ${key}, but the rest of its record cannot be ` +
      `read. Nothing was sent now. Do not charge again: verify ${shown}.`,
    { operation, cause: undefined, reference, shown, idempotencyKey },
  );
}

function conflict({ operation, idempotencyKey, key }: Subject): IdempotencyConflictError {
  return new IdempotencyConflictError(
    `${operation}: key ${key} was used with other input and may have charged. Nothing was sent. One key per charge. ` +
      `${howToResolve(operation, idempotencyKey, undefined)}`,
    { operation, idempotencyKey },
  );
}

/** Its own digest tells no more than that it is another one; that of the other mode may tell why. */
async function otherService(
  { operation }: Subject,
  baseUrl: string,
  mode: Mode,
  service: string,
): Promise<ConfigurationError> {
  const other = mode === 'test' ? 'unknown' : 'test';
  const isOtherMode = service === (await serviceDigest(baseUrl, other));
  const keys =
    mode === 'test' ? 'keys other than sk_test_…, and this is a test key' : 'test keys, and this is none';
  const owner = isOtherMode ? keys : 'another base URL or mode than that of this client';
  return new ConfigurationError(
    `${operation}: the journal belongs to ${owner}. Nothing was sent. Give each service and mode a journal of its own ` +
      '(table, file or prefix).',
    { operation },
  );
}
