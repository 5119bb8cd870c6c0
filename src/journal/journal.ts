import { ConfigurationError } from '../errors.ts';
import { LONGEST_TIMER } from '../longest-timer.ts';
import { JournalError } from './journal-error.ts';
import type { Attempt, Ending, JournalRecord } from './record.ts';
import { type Found, newVersion, ownerOf, readRecord, writeRecord } from './records.ts';
import { type Resolution, settled } from './resolution.ts';
import { createServiceOf } from './service.ts';
import type { JournalStore } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a record is kept once no charge is in doubt any more, in milliseconds. A dropped key counts as new: keep it
   * for longer than any order of yours may be tried again. A record that is unknown is kept until it is settled.
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
  readonly attempt: Attempt;
}

/** What a key says to somebody who wants to send. */
export type Standing =
  | { readonly state: 'begun'; readonly claim: Claim }
  | { readonly state: 'in_progress'; readonly version: string }
  | { readonly state: 'completed'; readonly result: { readonly reference: string } }
  | { readonly state: 'unknown'; readonly reference: string | undefined }
  /** The key was used with other input, and a charge of that may exist. */
  | { readonly state: 'conflict' }
  /** The journal belongs to another service or mode than `attempt.service`, and recorded nothing. */
  | { readonly state: 'other_service'; readonly service: string };

/** What a journal holds about a key, for people and their tools. */
export type JournalEntry = JournalRecord & {
  /** Whether whoever began it was heard of within the lease. */
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
  begin(key: string, attempt: Attempt): Promise<Standing>;
  /** Says that whoever holds the claim is alive, or `null` where the claim no longer holds. */
  renew(claim: Claim): Promise<Claim | null>;
  /** Records how it ended; `false` where the claim no longer holds. */
  end(claim: Claim, ending: Ending): Promise<boolean>;
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
  const { retention, lease } = resolveJournalOptions(checkedOptions(options));
  if (typeof store?.read !== 'function' || typeof store.write !== 'function')
    throw new ConfigurationError('createJournal takes a JournalStore: an object with read and write.');
  const inProgress = ({ record, age }: Found) => record.state === 'begun' && age < lease;

  const serviceOf = createServiceOf(store);
  const write = (
    key: string,
    record: JournalRecord,
    expected: string | null,
    version: string,
    binding = true,
  ) => writeRecord(store, key, record, { expected, version, retention, binding });

  /** A write of the owner's own whose answer was lost does not end its claim; one of somebody else does. */
  function writeClaimed(claim: Claim, record: JournalRecord): Promise<string | null> {
    const { key } = claim;
    const owner = ownerOf(claim.version);
    let expected = claim.version;
    return untilOneCounts(async () => {
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

    async begin(key, attempt) {
      const service = await serviceOf(attempt.service);
      if (service !== attempt.service) return { state: 'other_service', service };
      const owner = crypto.randomUUID();
      let expected: string | null = null;
      return untilOneCounts<Standing>(async () => {
        const version = newVersion(owner);
        const claim = { key, version, attempt };
        if (await write(key, begun(attempt), expected, version)) return { state: 'begun', claim };
        const found = await readRecord(store, key);
        expected = found?.version ?? null;
        if (!found) return undefined;
        // A driver that lost the connection may have written it twice, and have been told of the second time only.
        if (found.version === version) return { state: 'begun', claim };
        return standingOf(found, attempt, inProgress(found));
      });
    },

    async renew(claim) {
      const version = await writeClaimed(claim, begun(claim.attempt));
      return version === null ? null : { ...claim, version };
    },

    async end(claim, ending) {
      return (await writeClaimed(claim, { format: 1, ...claim.attempt, ...ending })) !== null;
    },

    async read(key) {
      const found = await readRecord(store, key);
      return found && { ...found.record, inProgress: inProgress(found) };
    },

    async resolve(key, resolution) {
      await untilOneCounts(async () => {
        const found = await readRecord(store, key);
        if (!found) throw new JournalError('The journal has no record of this key.');
        if (inProgress(found)) {
          const message =
            'A process is charging under this key at this moment: settle it once that has ended.';
          throw new JournalError(message, { retryable: true });
        }
        const record = settled(found.record, resolution);
        if (!record) return true;
        const version = newVersion(crypto.randomUUID());
        return (await write(key, record, found.version, version, false)) || undefined;
      });
    },
  };
}

/** Each round that fails is one that somebody else won, so it ends sooner; a store that is wrong ends here. */
const MOST_ROUNDS = 100;

async function untilOneCounts<T>(round: () => Promise<T | undefined>): Promise<T> {
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
    const result = await round();
    if (result !== undefined) return result;
  }
  throw new JournalError('The record changed under every try to change it.', { retryable: true });
}

const begun = (attempt: Attempt): JournalRecord => ({ format: 1, ...attempt, state: 'begun' });

/** What the record of a key means for an attempt; `undefined` where it may be sent. */
function standingOf({ record, version }: Found, attempt: Attempt, inProgress: boolean): Standing | undefined {
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
export function checkedOptions<Options extends JournalOptions>(options: Options): Options {
  if (typeof options === 'object' && options !== null) return options;
  throw new ConfigurationError('The options of a journal must be an object, such as { lease: 10_000 }.');
}

function resolveJournalOptions(options: JournalOptions): { retention: number; lease: number } {
  const { retention = Number.POSITIVE_INFINITY, lease = 10_000 } = options;
  if (!(typeof retention === 'number' && retention > 0))
    throw new ConfigurationError('retention must be milliseconds, more than 0.');
  if (!(typeof lease === 'number' && lease >= 100 && lease <= LONGEST_TIMER))
    throw new ConfigurationError('lease must be milliseconds, at least 100 and under 2^31.');
  return { retention, lease };
}
