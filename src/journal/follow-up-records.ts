import type { FollowUpRecord, FollowUpRecords } from './journal.ts';
import { listPage, missingMethodError, toEntry } from './list.ts';
import { type JournalRecord, newVersion, ownerOf, referenceOf, toStoreError } from './record.ts';
import { type KeyedRecord, parseListed, type Records } from './records.ts';

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

    async claimDue(claim) {
      if (typeof store.claimDue !== 'function') throw missingMethodError('claimDue');
      const listed = await store.claimDue(claim).catch((error: unknown) => {
        throw toStoreError('read', error);
      });
      return parseListed(listed).found.map(toFollowUpRecord);
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
      return found.filter(({ record }) => referenceOf(record) === reference).map(toFollowUpRecord);
    },

    async update({ key, version: expected, record, entry }, followUp, dueIn) {
      const changed: JournalRecord = { ...record, followUp };
      // The process of a claim recognises its own writes by their owner: this one must not end its claim.
      const version = newVersion(record.state === 'begun' ? ownerOf(expected) : crypto.randomUUID());
      if (!(await records.write(key, changed, { expected, version, mustCommit: false, dueIn }))) return null;
      return { key, version, record: changed, entry: { ...entry, followUp, updatedAt: Date.now() } };
    },
  };
}
