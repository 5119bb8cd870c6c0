import { ConfigurationError } from '../errors.ts';
import { LONGEST_TIMER } from '../longest-timer.ts';
import { JournalError } from './journal-error.ts';
import type { Attempt, Ending, JournalRecord } from './record.ts';
import { readRecord, writeRecord } from './records.ts';
import { type Resolution, settled } from './resolution.ts';
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
  | { readonly state: 'conflict' };

/** What a journal holds about a key, for people and their tools. */
export type JournalEntry = JournalRecord & {
  /** Whether whoever began it was heard of within the lease. */
  readonly inProgress: boolean;
};

/**
 * What was charged, and what may have been: the record that makes `idempotencyKey` hold through a crash. The client
 * calls `begin`, `renew` and `end`; `resolve` and `read` are for you. A journal on a database of your own is
 * {@link createJournal} over a {@link JournalStore}.
 */
export interface Journal {
  /** @see JournalOptions.lease */
  readonly lease: number;
  /** Records that `attempt` is about to be sent, or says why it must not be. */
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

/** Each round that fails is one that somebody else won, so it ends sooner; a store that is wrong ends here. */
const MOST_ROUNDS = 100;

/**
 * A journal on a database of your own.
 *
 * @throws ConfigurationError where an option cannot work
 */
export function createJournal(store: JournalStore, options: JournalOptions = {}): Journal {
  const { retention, lease } = resolveJournalOptions(options);
  const expired = (age: number) => !(age < lease);
  const replace = (key: string, expected: string | null, record: JournalRecord, binding = true) =>
    writeRecord(store, key, expected, record, { retention, binding });

  async function claim(key: string, expected: string | null, attempt: Attempt): Promise<Claim | null> {
    const version = await replace(key, expected, { format: 1, ...attempt, state: 'begun' });
    return version === null ? null : { key, version, attempt };
  }

  return {
    lease,

    async begin(key, attempt) {
      let expected: string | null = null;
      for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
        const mine = await claim(key, expected, attempt);
        if (mine) return { state: 'begun', claim: mine };
        const found = await readRecord(store, key);
        const standing: Standing | null =
          found && standingOf(found.record, attempt, found, expired(found.age));
        if (standing) return standing;
        expected = found?.version ?? null;
      }
      throw new JournalError('Others changed this record at every try.', { retryable: true });
    },

    async renew({ key, version, attempt }) {
      return claim(key, version, attempt);
    },

    async end({ key, version, attempt }, ending) {
      return (await replace(key, version, { format: 1, ...attempt, ...ending })) !== null;
    },

    async read(key) {
      const found = await readRecord(store, key);
      if (!found) return null;
      return { ...found.record, inProgress: found.record.state === 'begun' && !expired(found.age) };
    },

    async resolve(key, resolution) {
      for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
        const found = await readRecord(store, key);
        if (!found) throw new JournalError(`The journal has no record of the key ${JSON.stringify(key)}.`);
        const inProgress = found.record.state === 'begun' && !expired(found.age);
        if (inProgress) {
          const message =
            'A process is charging under this key at this moment: settle it once that has ended.';
          throw new JournalError(message, { retryable: true });
        }
        const record = settled(found.record, resolution);
        if (!record || (await replace(key, found.version, record, false)) !== null) return;
      }
      throw new JournalError('Others changed this record at every try.', { retryable: true });
    },
  };
}

/** What the record of a key means for an attempt; `null` where it may be sent. */
function standingOf(
  record: JournalRecord,
  attempt: Attempt,
  { version }: { version: string },
  expired: boolean,
): Standing | null {
  if (record.state === 'not_charged') return null;
  if (record.fingerprint !== attempt.fingerprint) return { state: 'conflict' };
  switch (record.state) {
    case 'completed':
      return { state: 'completed', result: record.result };
    case 'unknown':
      return { state: 'unknown', reference: record.reference };
    case 'begun':
      return expired ? { state: 'unknown', reference: undefined } : { state: 'in_progress', version };
    case 'not_sent':
    case 'rejected':
      return null;
  }
}

function resolveJournalOptions(options: JournalOptions): { retention: number; lease: number } {
  const { retention = Number.POSITIVE_INFINITY, lease = 10_000 } = options;
  if (!(typeof retention === 'number' && retention > 0))
    throw new ConfigurationError('retention must be milliseconds, more than 0.');
  if (!(typeof lease === 'number' && lease >= 100 && lease <= LONGEST_TIMER))
    throw new ConfigurationError('lease must be milliseconds, at least 100 and under 2^31.');
  return { retention, lease };
}
