import type { Expectation } from '../api/input.ts';
import type { Transaction } from '../api/transaction.ts';
import { ConfigurationError, JournalError, NotFoundError, quoteKey } from '../errors.ts';
import type { Report } from '../events.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { getJournalCore } from '../journal/core.ts';
import type { Journal, JournalEntry } from '../journal/journal.ts';
import { missingMethodError } from '../journal/list.ts';
import {
  type Resolution,
  type ResolutionNote,
  type ValidResolution,
  validateResolution,
} from '../journal/resolution.ts';
import { detectMode, runAsRead } from '../normalize-options.ts';
import { digestService, validateIdempotencyKey } from './fingerprint.ts';
import { SHARED_REFERENCE } from './key-errors.ts';

/** A call that resolves a key, and how it asks the service. */
export interface ResolveCall {
  readonly idempotencyKey: string;
  readonly resolution: Resolution;
  readonly note: ResolutionNote;
  readonly signal: AbortSignal | undefined;
  readonly baseUrl: string;
  readonly report: Report;
  /** Redacts the API key in a reference or another id. */
  readonly redactId: (id: string) => string;
  /** Returns the API key. */
  resolveApiKey(): Promise<string>;
  /** Asks the service for a transaction. It rejects if the transaction is not as `expect` says. */
  verify(reference: string, expect?: Expectation): Promise<Transaction>;
}

/**
 * Resolves a key as a person found it out, once the service has confirmed it. A typing error, or a reference of another
 * order, must not turn an unpaid order into a paid one.
 */
export async function resolveKeyAtService(journal: Journal, call: ResolveCall): Promise<JournalEntry> {
  validateIdempotencyKey(call.idempotencyKey, 'verify');
  const valid = runAsRead(() => validateResolution(call.resolution, call.note));
  const before = await readEntry(journal, call);
  await assertSameService(call, before);
  const { amount, currency } = before;
  if (valid.resolution === 'not_charged') await assertUnknownToService(call, before);
  else if (valid.resolution !== 'closed') {
    assertListed(journal);
    await call.verify(valid.resolution.reference, { amount, currency });
  }
  const { by, reason, resolutionsSeen = before.resolutions.length } = valid;
  const note = { by, reason, resolutionsSeen };
  const resolve = () => journal.resolve(call.idempotencyKey, valid.resolution, note);
  await waitForJournal(resolve, { end: call.signal });
  const after = await readEntry(journal, call);
  if (after.resolutions.length > before.resolutions.length) reportResolved(call, after, valid);
  return after;
}

async function readEntry(
  journal: Journal,
  { idempotencyKey, redactId, signal }: ResolveCall,
): Promise<JournalEntry> {
  const entry = await waitForJournal(() => journal.read(idempotencyKey), { end: signal });
  if (entry) return entry;
  throw new JournalError(`The journal has no record of the key ${quoteKey(redactId(idempotencyKey))}.`);
}

/** The reference of one service or mode means nothing at another. */
async function assertSameService(
  { baseUrl, resolveApiKey }: ResolveCall,
  entry: JournalEntry,
): Promise<void> {
  const mode = detectMode(await resolveApiKey());
  if (entry.service === (await digestService(baseUrl, mode))) return;
  throw new ConfigurationError(
    'The key was used with another base URL, or with a key of another mode (test or live). Nothing was changed. ' +
      'Resolve it with a client for that service and mode.',
    { operation: 'verify' },
  );
}

/** @throws {ConfigurationError} if no other key with the reference could be found. */
function assertListed(journal: Journal): void {
  if (typeof getJournalCore(journal).store.list !== 'function') throw missingMethodError('list');
}

/**
 * A key for which the service named a transaction was charged, unless the service does not know that transaction. A person
 * might have found a wrong one: it must not be paid, nor be about to be.
 */
async function assertUnknownToService({ verify, redactId }: ResolveCall, entry: JournalEntry): Promise<void> {
  const { state, reference } = entry;
  // What the service itself returned, the journal refuses to overrule.
  if (state === 'completed' && entry.resolutions.length === 0) return;
  // The transaction is that of another key.
  if (reference === undefined || entry.error?.code === SHARED_REFERENCE) return;
  let status: string;
  try {
    ({ status } = await verify(reference));
  } catch (error) {
    if (error instanceof NotFoundError) return;
    throw error;
  }
  if (state === 'completed' && status === 'failed') return;
  throw new JournalError(
    `The service has ${redactId(reference)}, which is recorded for this key: a charge exists. Nothing was changed. ` +
      'Resolve the key with that reference.',
  );
}

function reportResolved(
  { report, redactId, idempotencyKey }: ResolveCall,
  { operation, state, reference }: JournalEntry,
  { by }: ValidResolution,
): void {
  report({
    type: 'resolved',
    operation,
    idempotencyKey: redactId(idempotencyKey),
    result: state === 'not_charged' || state === 'closed' ? state : 'charged',
    ...(reference === undefined ? {} : { reference }),
    by,
  });
}
