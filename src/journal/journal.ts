import { ConfigurationError, JournalError } from '../errors.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import type { ChargeIntent, Completion, JournalRecord } from './record.ts';
import {
  applyResolution,
  newVersion,
  ownerOf,
  type Resolution,
  readRecord,
  type VersionedRecord,
  writeRecord,
} from './record.ts';
import { createServiceGuard } from './service.ts';
import type { JournalStore } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a record is kept once no charge is in doubt any more, in milliseconds. A dropped key counts as new: keep it
   * for longer than any order of yours may be tried again. A record that is unknown is kept until it is settled.
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
   * How long a charge counts as in progress after its process was last heard of, in milliseconds. While it runs, it
   * reports three times as often. After that its outcome is unknown; that is never a reason to send anything.
   *
   * @default 10_000
   */
  lease?: number | undefined;
}

/** Leave to send, for as long as `version` is the record's. */
export interface Claim {
  readonly key: string;
  readonly version: string;
  readonly attempt: ChargeIntent;
}

/** What a key says to somebody who wants to send. */
export type ClaimResult =
  | { readonly state: 'begun'; readonly claim: Claim }
  | { readonly state: 'in_progress'; readonly version: string }
  | { readonly state: 'completed'; readonly result: { readonly reference: string } }
  | { readonly state: 'unknown'; readonly reference: string | undefined }
  /** The key was used with other input, and a charge of that may exist. */
  | { readonly state: 'conflict' }
  /** The journal belongs to another service or mode than `attempt.service`, and recorded nothing. */
  | { readonly state: 'other_service'; readonly service: string };

/**
 * What a journal holds about a key, for people and their tools. A key that was begun, and whose process was not heard of
 * within the lease, is `unknown`.
 */
export type JournalEntry = JournalRecord & {
  /** Whether a process is charging under the key at this moment: the same as `state` `begun`. */
  readonly inProgress: boolean;
};

/**
 * What was charged, and what may have been: the record that makes `idempotencyKey` hold through a crash. The client
 * calls `begin`, `renew` and `end`, and `read` where its claim was lost; `resolve` and `read` are for you. A journal
 * belongs to the service and mode that use it first, and keeps a digest of them. A journal on a database of your own is {@link createJournal} over a
 * {@link JournalStore}.
 */
export interface Journal {
  /** @see JournalOptions.lease */
  readonly lease: number;
  /**
   * Records that `attempt` is about to be sent, or says why it must not be. `attempt.service` is a digest of base URL
   * and mode: the first one that is given is kept for ever, and any other is refused as `other_service`.
   */
  claim(key: string, attempt: ChargeIntent): Promise<ClaimResult>;
  /** Says that whoever holds the claim is alive, or `null` where the claim no longer holds. */
  renew(claim: Claim): Promise<Claim | null>;
  /** Records how it ended; `false` where the claim no longer holds. */
  complete(claim: Claim, ending: Completion): Promise<boolean>;
  /** What is recorded of a key, or `null`. */
  read(key: string): Promise<JournalEntry | null>;
  /**
   * Settles a key whose outcome is unknown, once somebody has found out: the charge is there, by its `reference`, or
   * there is none. With `not_charged` the key is free, also for other input. Saying the same twice is harmless.
   *
   * @throws JournalError where there is no such key, where it is in progress (`retryable`), or where the record says
   * otherwise.
   *
   * @example
   * ```ts
   * await journal.resolve('order-17', { reference: 'TXN-8F2K1' });
   * await journal.resolve('order-18', 'not_charged');
   * ```
   */
  resolve(key: string, resolution: Resolution): Promise<void>;
  /**
   * Settings of the database with which a record could be lost. The client asks once, in the background, and reports
   * each to `onEvent` and `logger`. A journal that cannot know leaves it out.
   */
  warnings?(): Promise<readonly JournalWarning[]>;
}

/** A setting of the database with which a record could be lost. */
export interface JournalWarning {
  readonly setting: string;
  readonly value: string;
  /** What may be lost, and what to set instead. */
  readonly message: string;
}

/**
 * A journal on a database of your own. Its handles in all processes share what the store holds.
 *
 * @throws ConfigurationError where an option cannot work, or where the store is none
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
  const inProgress = ({ record, age }: VersionedRecord) => record.state === 'begun' && age < lease;

  const serviceOf = createServiceGuard(store);
  const write = (
    key: string,
    record: JournalRecord,
    expected: string | null,
    version: string,
    mustCommit = true,
  ) => writeRecord(store, key, record, { expected, version, retention, binding: mustCommit });

  /** A write of the owner's own whose answer was lost does not end its claim; one of somebody else does. */
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

  return {
    lease,

    async claim(key, attempt) {
      const service = await serviceOf(attempt.service);
      if (service !== attempt.service) return { state: 'other_service', service };
      const owner = crypto.randomUUID();
      let expected: string | null = null;
      return retryCas<ClaimResult>(async () => {
        const version = newVersion(owner);
        const claim = { key, version, attempt };
        if (await write(key, pendingRecord(attempt), expected, version)) return { state: 'begun', claim };
        const found = await readRecord(store, key);
        expected = found?.version ?? null;
        if (!found) return undefined;
        // A driver that lost the connection may have written it twice, and have been told of the second time only.
        if (found.version === version) return { state: 'begun', claim };
        return claimResultFor(found, attempt, inProgress(found));
      });
    },

    async renew(claim) {
      const version = await updateOwned(claim, pendingRecord(claim.attempt));
      return version === null ? null : { ...claim, version };
    },

    async complete(claim, ending) {
      return (await updateOwned(claim, { format: 1, ...claim.attempt, ...ending })) !== null;
    },

    async read(key) {
      const found = await readRecord(store, key);
      return found && entryOf(found.record, inProgress(found));
    },

    async resolve(key, resolution) {
      await retryCas(async () => {
        const found = await readRecord(store, key);
        if (!found) throw new JournalError('The journal has no record of this key.');
        if (inProgress(found)) {
          const message =
            'A process is charging under this key at this moment: settle it once that has ended.';
          throw new JournalError(message, { retryable: true });
        }
        const record = applyResolution(found.record, resolution);
        if (!record) return true;
        const version = newVersion(crypto.randomUUID());
        return (await write(key, record, found.version, version, false)) || undefined;
      });
    },
  };
}

/** Each round that fails is one that somebody else won, so it ends sooner; a store that is wrong ends here. */
const MAX_CAS_ATTEMPTS = 100;

async function retryCas<T>(round: () => Promise<T | undefined>): Promise<T> {
  for (let rounds = 0; rounds < MAX_CAS_ATTEMPTS; rounds++) {
    const result = await round();
    if (result !== undefined) return result;
  }
  throw new JournalError('The record changed under every try to change it.', { retryable: true });
}

const pendingRecord = (attempt: ChargeIntent): JournalRecord => ({ format: 1, ...attempt, state: 'begun' });

/** The process that began it may have died after it was sent. */
function entryOf(record: JournalRecord, inProgress: boolean): JournalEntry {
  const isLeft = record.state === 'begun' && !inProgress;
  return { ...record, ...(isLeft ? { state: 'unknown' } : {}), inProgress };
}

/** What the record of a key means for an attempt; `undefined` where it may be sent. */
function claimResultFor(
  { record, version }: VersionedRecord,
  attempt: ChargeIntent,
  inProgress: boolean,
): ClaimResult | undefined {
  const isProvenFree = ['not_sent', 'rejected', 'not_charged'].includes(record.state);
  if (!isProvenFree && record.fingerprint !== attempt.fingerprint) return { state: 'conflict' };
  switch (record.state) {
    case 'completed':
      return { state: 'completed', result: record.result };
    case 'unknown':
      return { state: 'unknown', reference: record.reference };
    case 'begun':
      return inProgress ? { state: 'in_progress', version } : { state: 'unknown', reference: undefined };
    case 'not_sent':
    case 'rejected':
    case 'not_charged':
      return undefined;
  }
}

/** Before anything is taken from them. */
export function assertOptions<Options extends JournalOptions>(options: Options): Options {
  if (typeof options === 'object' && options !== null) return options;
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
