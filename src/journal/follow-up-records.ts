import {
  type KeyedRecord,
  newVersion,
  ownerOf,
  parseListed,
  type Records,
  retryCas,
  toStoreError,
  type VersionedRecord,
} from './compare-and-swap.ts';
import type { FollowUpRecord, FollowUpRecords } from './core.ts';
import { findByReference, missingMethodError, toEntry } from './list.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from './record.ts';

/** Returns what follow-ups read and write of a journal's records. */
export function createFollowUpRecords(
  records: Records,
  resolveService: (service: string) => Promise<string>,
): FollowUpRecords {
  const { store } = records;
  const toFollowUpRecord = (found: KeyedRecord): FollowUpRecord => {
    const { key, version, record } = found;
    return { key, version, record, entry: toEntry(key, found, records.isInProgress(found)) };
  };

  return {
    async claimDue({ kind, limit, lease, onUnreadable }) {
      if (typeof store.claimDue !== 'function') throw missingMethodError('claimDue');
      const listed = await store.claimDue({ kind, limit, lease }).catch((error: unknown) => {
        throw toStoreError('read', error);
      });
      const { found, unreadable } = parseListed(listed);
      if (unreadable.length > 0) onUnreadable?.(unreadable);
      return found.map(toFollowUpRecord);
    },

    async countDue({ kind }) {
      if (typeof store.countDue !== 'function') throw missingMethodError('countDue');
      return await store.countDue({ kind }).catch((error: unknown) => {
        throw toStoreError('read', error);
      });
    },

    isOwnService: async (service) => (await resolveService(service)) === service,

    async find(reference) {
      return (await findByReference(store, reference)).map(toFollowUpRecord);
    },

    async update({ key, version: claimed, record, entry }, given, dueIn) {
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

    async notify({ key, version: expected, record }, dueIn) {
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
