import { callStore } from './call-store.ts';
import {
  type KeyedRecord,
  newVersion,
  ownerOf,
  parseListed,
  type Records,
  retryCas,
  type VersionedRecord,
} from './compare-and-swap.ts';
import { findByReference } from './find-by-reference.ts';
import type { JournalEntry } from './journal.ts';
import { missingMethodError, toEntry } from './list.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from './record.ts';
import type { RecordKind } from './store.ts';

interface DueClaim {
  kind: RecordKind;
  limit: number;
  lease: number;
  onUnreadable?: (keys: readonly string[]) => void;
}

/** A record that a follow-up is about. */
export interface FollowUpRecord {
  readonly key: string;
  /** The version that `update` expects. */
  readonly version: string;
  readonly record: JournalRecord;
  /** What `journal.read` returns. */
  readonly entry: JournalEntry;
}

export type FollowUpRecords = ReturnType<typeof createFollowUpRecords>;

/** Returns what follow-ups read and write of a journal's records. */
export function createFollowUpRecords(
  records: Records,
  resolveService: (service: string) => Promise<string>,
) {
  const { store } = records;
  const toFollowUpRecord = (found: KeyedRecord): FollowUpRecord => {
    const { key, version, record } = found;
    return { key, version, record, entry: toEntry(key, found, records.isInProgress(found)) };
  };

  return {
    /**
     * Returns due records, and makes each due again after `lease` milliseconds. `onUnreadable` gets the keys of
     * those that cannot be read.
     */
    async claimDue({ onUnreadable, ...claim }: DueClaim): Promise<FollowUpRecord[]> {
      const listed = await callStore(store, 'read', async () => {
        if (typeof store.claimDue !== 'function') throw missingMethodError('claimDue');
        return [...(await store.claimDue(claim))];
      });
      const { found, unreadable } = parseListed(listed);
      if (unreadable.length > 0) onUnreadable?.(unreadable);
      return found.map(toFollowUpRecord);
    },

    /** Returns how many records are due, and in how many milliseconds the next one is. */
    countDue: (query: { kind: RecordKind }) =>
      callStore(store, 'read', async () => {
        if (typeof store.countDue !== 'function') throw missingMethodError('countDue');
        return await store.countDue(query);
      }),

    /** Whether the journal belongs to this service and mode, as a digest. */
    isOwnService: async (service: string) => (await resolveService(service)) === service,

    /** Returns the records that name a transaction, in upper or lower case. */
    async find(reference: string) {
      return (await findByReference(store, reference)).map(toFollowUpRecord);
    },

    /**
     * Records a step, and when the next one is due (`null`: never). Returns the record as it is now, or `null` if
     * it was changed meanwhile: it has another state or result, or another process recorded a step. A notification is no
     * step: it is kept.
     */
    async update(
      { key, version: claimed, record, entry }: FollowUpRecord,
      given: FollowUp,
      dueIn: number | null,
    ): Promise<FollowUpRecord | null> {
      const isBegun = record.state === 'begun';
      let followUp = isBegun ? { ...given, leaseExpired: true as const } : given;
      let expected = claimed;
      return await retryCas(async () => {
        const changed: JournalRecord = { ...record, followUp };
        // The process of a claim recognises its own writes by their owner: this one must not end its claim.
        const version = newVersion(isBegun ? ownerOf(expected) : crypto.randomUUID());
        const updated = {
          key,
          version,
          record: changed,
          entry: { ...entry, followUp, updatedAt: Date.now() },
        };
        if (await records.write(key, changed, { expected, version, mustCommit: false, dueIn }))
          return updated;
        const found = await records.read(key);
        if (found?.version === version) return updated;
        // The database gave the write up, because of a deadlock for example.
        if (found?.version === expected) return undefined;
        if (!isNotified(found, record, expected)) return null;
        expected = found.version;
        followUp = addNotification(followUp, found.record);
        return undefined;
      });
    },

    /** Counts a notification, and makes a completed record due. Returns `false` if it was changed meanwhile. */
    async notify({ key, version: expected, record }: FollowUpRecord, dueIn: number): Promise<boolean> {
      const { followUp: before = NO_FOLLOW_UP } = record;
      const followUp = { ...before, notified: (before.notified ?? 0) + 1 };
      return await retryCas(async () => {
        const version = newVersion(ownerOf(expected));
        const write = { expected, version, mustCommit: false, dueIn };
        if (await records.write(key, { ...record, followUp }, write)) return true;
        const found = await records.read(key);
        if (found?.version === expected) return undefined;
        return found?.version === version;
      });
    },
  };
}

const addNotification = (followUp: FollowUp, { followUp: found }: JournalRecord): FollowUp => ({
  ...followUp,
  notified: found?.notified,
});

/** Whether only a notification came since a completed record was read: it keeps the owner. */
function isNotified(
  found: VersionedRecord | null,
  before: JournalRecord,
  expected: string,
): found is VersionedRecord {
  const areCompleted = found?.record.state === 'completed' && before.state === 'completed';
  return areCompleted && ownerOf(found.version) === ownerOf(expected);
}
