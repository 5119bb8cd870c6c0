import { ConfigurationError } from '../errors.ts';
import { protocol } from '../idempotency/send-idempotent.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { isObject } from '../untrusted.ts';
import { createFollowUpRecords } from './follow-up-records.ts';
import type { Claim, ClaimResult, Journal } from './journal.ts';
import { countEntries, listEntries, toEntry } from './list.ts';
import {
  addRequest,
  type ChargeIntent,
  type Completion,
  type JournalRecord,
  type KeyHistory,
  newVersion,
  ownerOf,
  type VersionedRecord,
} from './record.ts';
import { createRecords, type Records, retryCas } from './records.ts';
import { resolveKey } from './resolve-key.ts';
import { createServiceGuard } from './service-guard.ts';
import { type JournalStore, MAX_DUE_IN } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a record is kept once its outcome is known, in milliseconds. A dropped key counts as new: keep it for longer
   * than any order of yours might be retried. A record whose outcome is unknown, and one that a person resolved, is kept
   * for ever. A record is kept for as long as its follow-up lasts, and for this long after the last step of it.
   *
   * A record is never dropped early because a clock is wrong. In memory a clock that cannot be set is used. SQLite,
   * PostgreSQL, MySQL and Redis count the time from write to write, at most a day at once, take away what the clock went back,
   * and keep a record for a week longer. So a clock that jumps ahead by any amount counts as a day, however long it
   * stays so; only seven jumps ahead in a row, and none back, could drop a record early. A journal that is seldom
   * written keeps records for longer than `retention`.
   *
   * @default Infinity
   * @example retention: 90 * 24 * 60 * 60 * 1000
   */
  retention?: number | undefined;
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
  const settings = resolveJournalOptions(assertOptions(options));
  const { lease } = settings;
  // A follow-up then looks at the key, and finds that its lease has not expired.
  const unresolvedIn = Math.min(lease, MAX_DUE_IN);
  if (typeof store?.read !== 'function' || typeof store.write !== 'function')
    throw new ConfigurationError('createJournal takes a JournalStore: an object with read and write.');
  const resolveService = createServiceGuard(store);
  const records = createRecords(store, settings);

  return {
    lease,
    protocol,
    followUps: createFollowUpRecords(records),

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
        if (await records.write(key, begunRecord(claimed.claim), write)) return claimed;
        const found = await records.read(key);
        // A driver that reconnected might have written twice, and returned the result of the second write only.
        if (found?.version === version) return claimed;
        expected = found?.version ?? null;
        history = nextHistory(intent, found?.record);
        return found ? claimResultFor(found, intent, records.isInProgress(found)) : undefined;
      });
    },

    async renew(claim) {
      const version = await updateOwned(records, claim, begunRecord(claim), unresolvedIn);
      return version === null ? null : { ...claim, version };
    },

    async complete(claim, completion) {
      const { record, dueIn } = completedRecord(claim, completion);
      return (await updateOwned(records, claim, record, dueIn)) !== null;
    },

    async read(key) {
      const found = await records.read(key);
      return found && toEntry(key, found, records.isInProgress(found));
    },

    list: (query = {}) => listEntries(records, query),
    count: () => countEntries(records),
    resolve: (key, resolution, note) => resolveKey(records, key, resolution, note),
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

function begunRecord({ intent, history }: Claim): JournalRecord {
  const { operation, service, fingerprint, amount, currency, network } = intent;
  const fields = { operation, service, fingerprint, amount, currency };
  return {
    format: 2,
    ...fields,
    ...(network === undefined ? {} : { network }),
    ...history,
    state: 'begun',
  };
}

/** Returns the record of a claim's outcome, and when its follow-up begins. */
function completedRecord(
  claim: Claim,
  completion: Completion,
): { record: JournalRecord; dueIn: number | null } {
  const { state: _, ...base } = begunRecord(claim);
  switch (completion.state) {
    case 'completed': {
      const { state, result, firstCheckIn = 0 } = completion;
      const delay = base.createdAt + firstCheckIn - Date.now();
      // A clock that was set back must not make it later.
      const dueIn = Math.max(0, Math.min(delay, firstCheckIn, MAX_DUE_IN));
      return { record: { ...base, state, result }, dueIn };
    }
    case 'unknown': {
      const { state, reference, error } = completion;
      return { record: { ...base, state, reference, error }, dueIn: 0 };
    }
    case 'not_sent':
    case 'rejected': {
      const { state, error } = completion;
      return { record: { ...base, state, error }, dueIn: null };
    }
  }
}

/** Returns what the record of a key means for an intent; `undefined` if the key can be claimed. */
function claimResultFor(
  { record, version }: VersionedRecord,
  intent: ChargeIntent,
  isInProgress: boolean,
): ClaimResult | undefined {
  const isOtherInput = record.fingerprint !== intent.fingerprint;
  switch (record.state) {
    case 'completed':
      if (isOtherInput)
        return { state: 'conflict', found: { state: 'completed', reference: record.result.reference } };
      return { state: 'completed', result: record.result };
    case 'unknown':
      if (isOtherInput)
        return { state: 'conflict', found: { state: 'unknown', reference: record.reference } };
      return { state: 'unknown', reference: record.reference };
    case 'begun':
      if (isOtherInput)
        return { state: 'conflict', found: { state: isInProgress ? 'in_progress' : 'unknown' } };
      return isInProgress ? { state: 'in_progress', version } : { state: 'unknown', reference: undefined };
    case 'not_sent':
    case 'rejected':
    case 'not_charged':
      return undefined;
  }
}

/**
 * Checks the names of options, before anything is read from them.
 *
 * @param own the name of the journal's own option.
 * @throws {ConfigurationError} if they are not an object, or one is unknown: a misspelt `retention` would drop nothing.
 */
export function assertOptions<Options extends JournalOptions>(options: Options, own?: string): Options {
  if (!isObject(options))
    throw new ConfigurationError('The options of a journal must be an object, such as { lease: 10_000 }.');
  const known: Record<string, true> = { retention: true, lease: true };
  if (own !== undefined) known[own] = true;
  const unknown = Object.entries(options).filter(([name]) => !Object.hasOwn(known, name));
  refuseUnknownOption(Object.fromEntries(unknown), known);
  return options;
}

function resolveJournalOptions(options: JournalOptions): { retention: number; lease: number } {
  const { retention = Number.POSITIVE_INFINITY, lease = 10_000 } = options;
  if (!(typeof retention === 'number' && retention > 0))
    throw new ConfigurationError('retention must be milliseconds, more than 0.');
  if (!(typeof lease === 'number' && lease >= 100 && lease <= MAX_TIMEOUT_MS))
    throw new ConfigurationError('lease must be milliseconds, at least 100 and under 2^31.');
  return { retention, lease };
}
