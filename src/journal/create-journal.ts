import { ConfigurationError, JournalError } from '../errors.ts';
import { protocol } from '../idempotency/send-idempotent.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { isObject } from '../untrusted.ts';
import type { Claim, ClaimResult, Journal, JournalEntry } from './journal.ts';
import {
  applyResolution,
  type ChargeIntent,
  type JournalRecord,
  newVersion,
  ownerOf,
  readRecord,
  type VersionedRecord,
  writeRecord,
} from './record.ts';
import { createServiceGuard } from './service-guard.ts';
import type { JournalStore } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a record is kept once its outcome is known, in milliseconds. A dropped key counts as new: keep it for longer
   * than any order of yours might be retried. A record whose outcome is unknown is kept until it is resolved.
   *
   * A record is never dropped early because a clock is wrong. In memory a clock that cannot be set is used. SQLite,
   * PostgreSQL and Redis count the time from write to write, at most a day at once, take away what the clock went back,
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
  const { retention, lease } = resolveJournalOptions(assertOptions(options));
  if (typeof store?.read !== 'function' || typeof store.write !== 'function')
    throw new ConfigurationError('createJournal takes a JournalStore: an object with read and write.');
  const resolveService = createServiceGuard(store);
  const isInProgress = ({ record, age }: VersionedRecord) => record.state === 'begun' && age < lease;
  const write = (
    key: string,
    record: JournalRecord,
    expected: string | null,
    version: string,
    mustCommit = true,
  ) => writeRecord(store, key, record, { expected, version, retention, mustCommit });

  return {
    lease,
    protocol,

    async claim(key, intent) {
      const service = await resolveService(intent.service);
      if (service !== intent.service) return { state: 'other_service', service };
      const owner = crypto.randomUUID();
      let expected: string | null = null;
      return retryCas<ClaimResult>(async () => {
        const version = newVersion(owner);
        const claimed = { state: 'claimed', claim: { key, version, intent } } as const;
        if (await write(key, begunRecord(intent), expected, version)) return claimed;
        const found = await readRecord(store, key);
        expected = found?.version ?? null;
        if (!found) return undefined;
        // A driver that reconnected might have written twice, and returned the result of the second write only.
        if (found.version === version) return claimed;
        return claimResultFor(found, intent, isInProgress(found));
      });
    },

    async renew(claim) {
      const version = await updateOwned(claim, begunRecord(claim.intent));
      return version === null ? null : { ...claim, version };
    },

    async complete(claim, completion) {
      return (await updateOwned(claim, { format: 1, ...claim.intent, ...completion })) !== null;
    },

    async read(key) {
      const found = await readRecord(store, key);
      return found && toEntry(found.record, isInProgress(found));
    },

    async resolve(key, resolution) {
      await retryCas(async () => {
        const found = await readRecord(store, key);
        if (!found) throw new JournalError('The journal has no record of this key.');
        if (isInProgress(found)) {
          const message = 'A process is charging under this key now: resolve it once that has ended.';
          throw new JournalError(message, { retryable: true });
        }
        const record = applyResolution(found.record, resolution);
        if (!record) return true;
        const version = newVersion(crypto.randomUUID());
        return (await write(key, record, found.version, version, false)) || undefined;
      });
    },
  };

  /**
   * Writes the record of a claim. Returns its version, or `null` if the claim was lost. If the result of an own write was
   * lost, the claim still holds; a write of another owner ends it.
   */
  function updateOwned(claim: Claim, record: JournalRecord): Promise<string | null> {
    const { key } = claim;
    const owner = ownerOf(claim.version);
    let expected = claim.version;
    return retryCas(async () => {
      const version = newVersion(owner);
      if (await write(key, record, expected, version)) return version;
      const found = await readRecord(store, key);
      if (!found || ownerOf(found.version) !== owner) return null;
      const { state } = found.record;
      if (found.version === version || (state !== 'begun' && state === record.state)) return found.version;
      expected = found.version;
      return state === 'begun' ? undefined : null;
    });
  }
}

const begunRecord = (intent: ChargeIntent): JournalRecord => ({ format: 1, ...intent, state: 'begun' });

/** Returns what the record of a key means for an intent; `undefined` if the key can be claimed. */
function claimResultFor(
  { record, version }: VersionedRecord,
  intent: ChargeIntent,
  isInProgress: boolean,
): ClaimResult | undefined {
  const isFree = ['not_sent', 'rejected', 'not_charged'].includes(record.state);
  if (!isFree && record.fingerprint !== intent.fingerprint) return { state: 'conflict' };
  switch (record.state) {
    case 'completed':
      return { state: 'completed', result: record.result };
    case 'unknown':
      return { state: 'unknown', reference: record.reference };
    case 'begun':
      return isInProgress ? { state: 'in_progress', version } : { state: 'unknown', reference: undefined };
    case 'not_sent':
    case 'rejected':
    case 'not_charged':
      return undefined;
  }
}

/** After the lease, the process that claimed the key might have died after it had sent the request. */
function toEntry(record: JournalRecord, inProgress: boolean): JournalEntry {
  const isExpired = record.state === 'begun' && !inProgress;
  return { ...record, ...(isExpired ? { state: 'unknown' } : {}), inProgress };
}

/** In each round that fails another process succeeded, so rounds end soon. A store that is wrong ends here. */
const MAX_CAS_ATTEMPTS = 100;

/** Repeats a compare-and-swap until it returns a result. */
async function retryCas<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let attempts = 0; attempts < MAX_CAS_ATTEMPTS; attempts++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new JournalError('Other processes changed the record at each attempt to write it. Try again.', {
    retryable: true,
  });
}

/** Checks that options are an object, before anything is read from them. */
export function assertOptions<Options extends JournalOptions>(options: Options): Options {
  if (isObject(options)) return options;
  throw new ConfigurationError('The options of a journal must be an object, such as { lease: 10_000 }.');
}

function resolveJournalOptions(options: JournalOptions): { retention: number; lease: number } {
  const { retention = Number.POSITIVE_INFINITY, lease = 10_000 } = options;
  if (!(typeof retention === 'number' && retention > 0))
    throw new ConfigurationError('retention must be milliseconds, more than 0.');
  if (!(typeof lease === 'number' && lease >= 100 && lease <= MAX_TIMEOUT_MS))
    throw new ConfigurationError('lease must be milliseconds, at least 100 and under 2^31.');
  return { retention, lease };
}
