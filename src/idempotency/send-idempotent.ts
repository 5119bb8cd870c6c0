import * as z from 'zod/mini';
import type { OperationName } from '../api/operations.ts';
import {
  type AnyTransaction,
  ClosedError,
  ConfigurationError,
  howToResolve,
  IdempotencyConflictError,
  OutcomeUnknownError,
  PaymentsError,
  quotedKey,
} from '../errors.ts';
import type { JournalEvent, Report } from '../events.ts';
import type { CallResult } from '../http/attempt.ts';
import { resolveApiKey } from '../http/attempt.ts';
import type { Send } from '../http/send.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import type { Completion } from '../journal/record.ts';
import type { Mode, ResolvedOptions } from '../options.ts';
import { createRedact } from '../redact.ts';
import { modeOf } from '../resolve-options.ts';
import type { Timestamp } from '../timing.ts';
import { linkSignals, withTimeout } from '../timing.ts';
import { orUndefined, stringField } from '../untrusted.ts';
import { acquireClaim, ClaimLease, JOURNAL_TIMEOUT } from './claim.ts';
import {
  type CreateCall,
  type CreateRequest,
  createIntent,
  serviceDigest,
  validateIdempotencyKey,
} from './fingerprint.ts';
import { parseStoredResult, toStoredResult } from './stored-result.ts';

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

  const { signal, release } = linkSignals(call.signal, closing, () => new ClosedError(name));
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

interface Surroundings {
  journal: Journal;
  send: Send;
  subject: KeyContext;
  tell: (result: JournalEvent['result'], reference?: string) => void;
  /** The mode that the claim is for. */
  mode: Mode;
}

/** Sends under a claim, and records how it ended before the caller hears of it. */
async function sendWithClaim<Input, Request extends CreateRequest, Result extends AnyTransaction>(
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

/** The call that an error is about. */
export interface KeyContext {
  readonly operation: OperationName;
  /** As it may be printed. */
  readonly idempotencyKey: string;
  /** The same as a message shows it: quoted, and not too long. */
  readonly key: string;
  /** A reference or another id as it may be printed. */
  readonly print: (id: string) => string;
}

/** What the record of a key leaves open, and how somebody closes it. */
function unresolvedKeyError(
  { operation, idempotencyKey, key, print }: KeyContext,
  reference?: string,
): OutcomeUnknownError {
  const shown = reference && print(reference);
  return new OutcomeUnknownError(
    `${operation}: an earlier call under idempotencyKey ${key} ${mayHave(operation)}. Nothing was sent. ` +
      howToResolve(operation, idempotencyKey, shown),
    { operation, cause: undefined, reference, shown, idempotencyKey },
  );
}

/** The charge was made, and somebody resolved its key otherwise before its response came. */
function resolvedOtherwise(
  { operation, idempotencyKey, key, print }: KeyContext,
  reference: string,
): OutcomeUnknownError {
  const shown = print(reference);
  return new OutcomeUnknownError(
    `${operation}: the service made ${shown}, but idempotencyKey ${key} was resolved otherwise meanwhile. Two ` +
      `charges may exist: verify ${shown}, and compare it with journal.read.`,
    { operation, cause: undefined, reference, shown, idempotencyKey },
  );
}

/** There is a record, and nobody can say what it tells of. Nor can it be resolved by a process that cannot read it. */
function unreadableRecordError(
  { operation, idempotencyKey, key }: KeyContext,
  why: string,
  cause: Error | undefined,
): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${operation}, idempotencyKey ${key}: ${why} Nothing was sent. An earlier call ${mayHave(operation)}: look it up ` +
      'at the service.',
    { operation, cause, idempotencyKey },
  );
}

function mayHave(operation: OperationName): string {
  return operation === 'initialize' ? 'may have started a payment' : 'may have charged';
}

const warningsSchema = z.array(z.object({ setting: z.string(), value: z.string(), message: z.string() }));

const asked = new WeakSet<Journal>();

/** Reports how a journal could lose records, once for each. Nobody waits for it, and it fails no charge. */
function reportWarnings(journal: Journal, report: Report): void {
  if (typeof journal.warnings !== 'function' || asked.has(journal)) return;
  asked.add(journal);
  warningsOf(journal).then(
    (warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    },
    () => {},
  );
}

const warningsOf = async (journal: Journal) => warningsSchema.parse(await journal.warnings?.());
