import { ConfigurationError, IdempotencyConflictError } from '../errors.ts';
import type { JournalEvent } from '../events.ts';
import type { Mode, ResolvedOptions } from '../options.ts';
import { createRedact } from '../redact.ts';
import { type AnyTransaction, howToResolve, OutcomeUnknownError, quotedKey } from '../request-errors.ts';
import { modeOf } from '../resolve-options.ts';
import { resolveApiKey } from '../transport/attempt.ts';
import { linkSignals } from '../transport/either-signal.ts';
import { stringField } from '../transport/request.ts';
import type { Send } from '../transport/transport.ts';
import { type CreateCall, type CreateRequest, createIntent, validateIdempotencyKey } from './attempt.ts';
import { type KeyContext, unreadableRecordError, unresolvedKeyError } from './doubt.ts';
import { reportWarnings } from './journal-warnings.ts';
import { parseStoredResult } from './recorded-result.ts';
import { sendWithClaim } from './send-claimed.ts';
import { serviceDigest } from './service-digest.ts';
import { acquireClaim } from './standing.ts';

const NO_JOURNAL =
  'idempotencyKey needs a journal: without one, at most one charge for each key could not be promised over a restart.';

export interface IdempotencyDeps {
  client: ResolvedOptions;
  send: Send;
  /** Ends the wait for another call when the client is closed. */
  closing: AbortSignal;
}

/**
 * Sends a call at most once for each key, through a crash at any instant: the intent is recorded before anything is
 * sent, and how it ended afterwards. Where the record leaves any doubt, nothing is sent.
 */
export async function sendIdempotent<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { client, send, closing }: IdempotencyDeps,
  idempotencyKey: string,
  call: CreateCall<Input, Request, Result>,
): Promise<Result> {
  const { operation, request } = call;
  const { name } = operation;
  const { journal, report } = client;
  if (!journal) throw new ConfigurationError(NO_JOURNAL, { operation: name });
  const key = validateIdempotencyKey(idempotencyKey, name);
  const redact = createRedact([], stringField(request, 'phone'), stringField(request, 'customer_email'));
  const print = (id: string) => client.showReference(redact.id(id));
  const redactedKey = print(key);
  const subject = { operation: name, idempotencyKey: redactedKey, key: quotedKey(redactedKey), print };
  const emit = (result: JournalEvent['result'], reference?: string) =>
    report({
      type: 'journal',
      operation: name,
      idempotencyKey: redactedKey,
      result,
      ...(reference ? { reference: print(reference) } : {}),
    });

  const { signal, release } = linkSignals(name, call.signal, closing);
  const onWaiting = () => emit('waiting');
  const claiming = async () => {
    // The journal belongs to one mode, and only the API key tells the mode.
    const mode = modeOf(await resolveApiKey(client, name, { signal, timeout: call.timeout }));
    const attempt = await createIntent(key, call, await serviceDigest(client.baseUrl, mode));
    const found = await acquireClaim(journal, key, attempt, { subject, signal, onWaiting });
    return { mode, ...found };
  };
  const { mode, standing, askedAt: asked } = await claiming().finally(release);
  reportWarnings(journal, report);
  switch (standing.state) {
    case 'begun':
      return sendWithClaim({ journal, send, subject, tell: emit, mode }, standing.claim, asked, call);
    case 'completed': {
      const { reference } = standing.result;
      const result = parseStoredResult(call, standing.result);
      if (!result) throw unreadableResultError(subject, reference);
      emit('replayed', reference);
      return result;
    }
    case 'unknown':
      emit('unresolved', standing.reference);
      throw unresolvedKeyError(subject, standing.reference);
    case 'unreadable':
      emit('unresolved');
      throw unreadableRecordError(subject, standing.why, standing.cause);
    case 'conflict':
      throw conflictError(subject);
    case 'other_service':
      throw await otherService(subject, client.baseUrl, mode, standing.service);
  }
}

function unreadableResultError(
  { operation, idempotencyKey, key, print }: KeyContext,
  reference: string,
): OutcomeUnknownError {
  const redactedKey = print(reference);
  return new OutcomeUnknownError(
    `${operation}: the journal holds ${redactedKey} for idempotencyKey ${key}, but the rest of its record cannot be ` +
      `read. Nothing was sent now. Do not charge again: verify ${redactedKey}.`,
    { operation, cause: undefined, reference, shown: redactedKey, idempotencyKey },
  );
}

function conflictError({ operation, idempotencyKey, key }: KeyContext): IdempotencyConflictError {
  return new IdempotencyConflictError(
    `${operation}: key ${key} was used with other input and may have charged. Nothing was sent. One key per charge. ` +
      `${howToResolve(operation, idempotencyKey, undefined)}`,
    { operation, idempotencyKey },
  );
}

/** Its own digest tells no more than that it is another one; that of the other mode may tell why. */
async function otherService(
  { operation }: KeyContext,
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
