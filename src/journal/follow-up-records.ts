import type { FollowUpRecord, FollowUpRecords } from './journal.ts';
import { listPage, missingMethodError, toEntry } from './list.ts';
import {
  type JournalRecord,
  NO_FOLLOW_UP,
  namesReference,
  newVersion,
  ownerOf,
  toStoreError,
} from './record.ts';
import { type KeyedRecord, parseListed, type Records, retryCas } from './records.ts';

/** How many keys of one transaction are looked at: more than one is wrong already. */
const MAX_KEYS_OF_REFERENCE = 10;

/** Returns what follow-ups read and write of a journal's records. */
export function createFollowUpRecords(records: Records): FollowUpRecords {
  const { store } = records;
  const toFollowUpRecord = (found: KeyedRecord): FollowUpRecord => {
    const { key, version, record } = found;
    return { key, version, record, entry: toEntry(key, found, records.isInProgress(found)) };
  };

  return {
    version: 1,

    async claimDue({ limit, lease, onUnreadable }) {
      if (typeof store.claimDue !== 'function') throw missingMethodError('claimDue');
      const listed = await store.claimDue({ limit, lease }).catch((error: unknown) => {
        throw toStoreError('read', error);
      });
      const { found, unreadable } = parseListed(listed);
      if (unreadable.length > 0) onUnreadable?.(unreadable);
      return found.map(toFollowUpRecord);
    },

    async countDue() {
      if (typeof store.countDue !== 'function') throw missingMethodError('countDue');
      return await store.countDue().catch((error: unknown) => {
        throw toStoreError('read', error);
      });
    },

    async find(reference) {
      const limit = MAX_KEYS_OF_REFERENCE;
      const query = { by: 'reference', value: reference.toLowerCase(), after: null, limit } as const;
      const { found } = parseListed(await listPage(store, query));
      return found.filter(({ record }) => namesReference(record, reference)).map(toFollowUpRecord);
    },

    async update({ key, version: claimed, record, entry }, given, dueIn) {
      const isBegun = record.state === 'begun';
      let followUp = isBegun ? { ...given, leaseExpired: true as const } : given;
      let expected = claimed;
      return await retryCas(async () => {
        const changed: JournalRecord = { ...record, followUp };
        // The process of a claim recognises its own writes by their owner: this one must not end its claim.
        const version = newVersion(isBegun ? ownerOf(expected) : crypto.randomUUID());
        if (await records.write(key, changed, { expected, version, mustCommit: false, dueIn }))
          return { key, version, record: changed, entry: { ...entry, followUp, updatedAt: Date.now() } };
        const found = await records.read(key);
        // Only a notification keeps the owner of a completed record.
        const isNotified =
          found?.record.state === 'completed' && ownerOf(found.version) === ownerOf(expected);
        if (!isNotified || record.state !== 'completed' || found.version === expected) return null;
        expected = found.version;
        followUp = { ...followUp, notified: found.record.followUp?.notified };
        return undefined;
      });
    },

    async notify({ key, version: expected, record }, dueIn) {
      const { followUp: before = NO_FOLLOW_UP } = record;
      const followUp = { ...before, notified: (before.notified ?? 0) + 1 };
      const version = newVersion(ownerOf(expected));
      const write = { expected, version, mustCommit: false, dueIn };
      return await records.write(key, { ...record, followUp }, write);
    },
  };
}
