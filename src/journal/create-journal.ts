import * as z from 'zod/mini';
import { ConfigurationError } from '../errors.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { optionalNumber, parseOptions, unchecked } from '../parse-options.ts';
import { getLateResult } from './call-store.ts';
import {
  createRecords,
  newVersion,
  ownerOf,
  type Records,
  retryCas,
  type VersionedRecord,
} from './compare-and-swap.ts';
import { type Claim, type ClaimResult, JOURNAL_CORE, type JournalCore } from './core.ts';
import { createFollowUpRecords } from './follow-up-records.ts';
import type { Journal, JournalWarning } from './journal.ts';
import { countEntries, listEntries, toEntry } from './list.ts';
import { pruneRecords } from './prune.ts';
import {
  addRequest,
  type ChargeIntent,
  type Completion,
  type JournalRecord,
  type KeyHistory,
  type OrderMark,
  referenceOf,
} from './record.ts';
import { resolveKey } from './resolve-key.ts';
import { createServiceGuard } from './service-guard.ts';
import { type JournalStore, MAX_DUE_IN } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a charge counts as in progress after the last heartbeat of its process, in milliseconds. A process that runs
   * sends three heartbeats per lease. After the lease the outcome is unknown; that is never a reason to send anything.
   *
   * @default 10_000
   */
  lease?: number | undefined;
}

/**
 * Makes a journal on a database of your own. Its handles in all processes share what the store holds.
 *
 * @throws {ConfigurationError} if an option cannot work, or if `store` is not a {@link JournalStore}.
 *
 * @example
 * ```ts
 * const payments = new PaymentsClient({ journal: createJournal(storeOf(myDatabase), { lease: 10_000 }) });
 * ```
 */
export function createJournal(store: JournalStore, options: JournalOptions = {}): Journal {
  return buildJournal(store, options);
}

/** As {@link createJournal}, for a journal that also knows which settings of its database could lose a record. */
export function buildJournal(
  store: JournalStore,
  options: JournalOptions,
  warnings?: () => Promise<readonly JournalWarning[]>,
): Journal {
  const { lease = 10_000 } = assertOptions(options);
  if (typeof store?.read !== 'function' || typeof store.write !== 'function')
    throw new ConfigurationError('createJournal takes a JournalStore: an object with read and write.');
  const records = createRecords(store, lease);
  const core = createCore(records, lease, warnings);
  const journal: Journal = {
    read: core.read,
    list: (query = {}) => listEntries(records, query),
    count: () => countEntries(records),
    resolve: (key, resolution, note) => resolveKey(records, key, resolution, note),
    prune: (options) => pruneRecords(records, options),
  };
  // Not enumerable: a copy of a journal is none.
  return Object.defineProperty(journal, JOURNAL_CORE, { value: core });
}

function createCore(records: Records, lease: number, warnings: JournalCore['warnings']): JournalCore {
  const { store } = records;
  const resolveService = createServiceGuard(store);
  // A follow-up then looks at the key, and finds that its lease has not expired.
  const unresolvedIn = Math.min(lease, MAX_DUE_IN);

  return {
    version: 1,
    lease,
    store,
    followUps: createFollowUpRecords(records, resolveService),
    warnings,

    async claim(key, intent) {
      const service = await resolveService(intent.service);
      if (service !== intent.service) return { state: 'other_service', service };
      const owner = crypto.randomUUID();
      let expected: string | null = null;
      let history = nextHistory(intent, undefined);
      return retryCas<ClaimResult>(async () => {
        const version = newVersion(owner);
        const claimed = { state: 'claimed', claim: { key, version, intent, history } } as const;
        const write = { expected, version, mustCommit: true, dueIn: unresolvedIn };
        const isWritten = await records.write(key, begunRecord(claimed.claim), write).catch((error) => {
          // The call does not wait for one that hangs, and releases it if it is written after all.
          return getLateResult(error) ?? Promise.reject(error);
        });
        if (isWritten === true) return claimed;
        const found = await records.read(key);
        // A driver that reconnected might have written twice, and returned the result of the second write only.
        if (found?.version === version) return claimed;
        expected = found?.version ?? null;
        history = nextHistory(intent, found?.record);
        return found ? claimResultFor(found, intent, records.isInProgress(found)) : undefined;
      });
    },

    async renew(claim, requestId) {
      const history = requestId === undefined ? claim.history : addRequest(claim.history, requestId);
      const renewed = { ...claim, history };
      const version = await updateOwned(records, renewed, begunRecord(renewed), unresolvedIn);
      return version === null ? null : { ...renewed, version };
    },

    async complete(claim, completion) {
      const { record, dueIn } = completedRecord(claim, completion);
      return (await updateOwned(records, claim, record, dueIn)) !== null;
    },

    async read(key) {
      const found = await records.read(key);
      return found && toEntry(key, found, records.isInProgress(found));
    },
  };
}

/**
 * Writes the record of a claim. Returns its version, or `null` if the claim was lost. If the result of an own write was
 * lost, the claim still holds; a write of another owner ends it.
 */
function updateOwned(
  records: Records,
  { key, version: claimed }: Claim,
  record: JournalRecord,
  dueIn: number | null,
): Promise<string | null> {
  const owner = ownerOf(claimed);
  let expected = claimed;
  return retryCas(async () => {
    const version = newVersion(owner);
    if (await records.write(key, record, { expected, version, mustCommit: true, dueIn })) return version;
    const found = await records.read(key);
    if (!found || ownerOf(found.version) !== owner) return null;
    const { state } = found.record;
    if (found.version === version || (state !== 'begun' && state === record.state)) return found.version;
    if (state !== 'begun') return null;
    // A follow-up has reported that the lease had expired. This process is still there.
    expected = found.version;
    return undefined;
  });
}

/** Returns the history of a key that a call is about to be sent under. */
function nextHistory({ requestId }: ChargeIntent, before: KeyHistory | undefined): KeyHistory {
  const { attempts = 0, requestIds = [], resolutions = [] } = before ?? {};
  return addRequest({ createdAt: Date.now(), attempts, requestIds, resolutions }, requestId);
}

function begunRecord({ intent: { requestId: _, ...intent }, history }: Claim): JournalRecord {
  return { format: 2, ...intent, ...history, state: 'begun' };
}

/** Returns the record of a claim's outcome, and when its follow-up begins. */
function completedRecord(
  claim: Claim,
  completion: Completion,
): { record: JournalRecord; dueIn: number | null } {
  const { state: _, ...base } = begunRecord(claim);
  if (completion.state !== 'completed')
    return { record: { ...base, ...completion }, dueIn: completion.state === 'unknown' ? 0 : null };
  const { state, result, firstCheckIn = 0 } = completion;
  const delay = base.createdAt + firstCheckIn - Date.now();
  // A clock that was set back must not make it later.
  return {
    record: { ...base, state, result },
    dueIn: Math.max(0, Math.min(delay, firstCheckIn, MAX_DUE_IN)),
  };
}

const isSameOrder = (one: OrderMark | undefined, other: OrderMark | undefined) =>
  one?.id === other?.id && one?.number === other?.number;

/** Returns what the record of a key means for an intent; `undefined` if the key can be claimed. */
function claimResultFor(
  { record, version }: VersionedRecord,
  intent: ChargeIntent,
  isInProgress: boolean,
): ClaimResult | undefined {
  if (!isSameOrder(record.order, intent.order)) return { state: 'other_owner', order: record.order };
  const { state } = record;
  if (state === 'not_sent' || state === 'rejected' || state === 'not_charged') return undefined;
  const reference = referenceOf(record);
  const known = state !== 'begun' ? state : isInProgress ? 'in_progress' : 'unknown';
  if (record.fingerprint !== intent.fingerprint)
    return { state: 'conflict', found: { state: known, reference } };
  if (state === 'completed') return { state, result: record.result };
  if (known === 'in_progress') return { state: known, version };
  return { state: state === 'closed' ? state : 'unknown', reference };
}

const lease = /* @__PURE__ */ optionalNumber(
  (value) => value >= 100 && value <= MAX_TIMEOUT_MS,
  'lease must be milliseconds, at least 100 and under 2^31.',
);

/**
 * Checks the options of a journal, before anything is read from them.
 *
 * @param own the name of the journal's own option, which the journal checks.
 * @throws {ConfigurationError} if they are not a plain object, if one is unknown, or if `lease` cannot work.
 */
export function assertOptions<Options extends JournalOptions>(options: Options, own?: string): Options {
  const shape = own === undefined ? { lease } : { lease, [own]: unchecked<unknown>() };
  parseOptions(z.strictObject(shape), options, {
    notAnObject: 'The options of a journal must be an object, such as { lease: 10_000 }.',
  });
  return options;
}
