import type { Db, IndexDescription } from 'mongodb';
import {
  type JournalStore,
  type ListedRecord,
  MAX_DUE_IN,
  type RecordIndex,
  type RecordKind,
} from 'payment-collection-client/journal';

/** Make these once. Make the collection without a collation: with one, `order A` and `order a` could be one key. */
export const journalIndexes: IndexDescription[] = [
  { key: { createdAt: 1, _id: 1 }, partialFilterExpression: { createdAt: { $exists: true } } },
  { key: { attentionAt: 1, _id: 1 }, partialFilterExpression: { attentionAt: { $exists: true } } },
  { key: { kind: 1, dueAt: 1, _id: 1 }, partialFilterExpression: { dueAt: { $exists: true } } },
];

/** A document has the times of its index that are not `null`. */
interface JournalDocument extends Partial<RecordIndex> {
  /** The key. */
  _id: string;
  version: string;
  text: string;
  /** Computed when it is read. */
  now?: Date;
}

/** All times are by the server's clock, `$$NOW`. */
const projection = { version: 1, text: 1, createdAt: 1, attentionAt: 1, dueAt: 1, now: '$$NOW' };
/** If the collection has a collation, a key that it takes for another one is refused. */
const collation = { locale: 'simple' };

/** A store in a replica set. */
export function mongodbStore(db: Db, name = 'payments_journal'): JournalStore {
  // These override the URL's. No operation has a session, so none is part of a transaction of yours.
  const collection = db.collection<JournalDocument>(name, {
    writeConcern: { w: 'majority', journal: true },
    readConcern: 'local',
    readPreference: 'primary',
  });

  const readNow = async () => new Date((await db.command({ hello: 1 })).localTime).getTime();
  const read = async (key: string) => {
    const found = await collection.findOne(
      { _id: key },
      { projection, collation, readConcern: 'linearizable', maxTimeMS: 10_000 },
    );
    return {
      record: found && { version: found.version, text: found.text },
      now: found?.now?.getTime() ?? (await readNow()),
    };
  };
  /** As a filter: due by the server's clock, or later than any write makes it, because that clock went back. */
  const readDue = async (kind: RecordKind) => {
    const now = await readNow();
    const last = now + MAX_DUE_IN;
    return {
      now,
      isDue: { kind, $or: [{ dueAt: { $lte: now } }, { dueAt: { $gt: last } }] },
      isLater: { kind, dueAt: { $gt: now, $lte: last } },
    };
  };

  return {
    read,

    async write(key, { expected, version, text, index }) {
      // Without $literal, a text that begins with a dollar sign would be the name of a field.
      const values = {
        version: { $literal: version },
        text: { $literal: text },
        kind: index?.kind ?? '$$REMOVE',
        createdAt: index?.createdAt ?? '$$REMOVE',
        attentionAt: index?.attentionAt ?? '$$REMOVE',
        dueAt: index?.dueAt ?? '$$REMOVE',
      };
      const isExpected = { _id: key, version: expected ?? { $exists: false } };
      try {
        const options = { upsert: expected === null, collation };
        const { matchedCount, upsertedCount } = await collection.updateOne(
          isExpected,
          [{ $set: values }],
          options,
        );
        return matchedCount + upsertedCount === 1;
      } catch (error) {
        // There is a record already.
        if (error instanceof Error && 'code' in error && error.code === 11000) return false;
        throw error;
      }
    },

    async list({ by, after, limit }) {
      // This server is still the primary: it has every write that has resolved. Only a read of one document can show that.
      const { now } = await read('');
      const isAfter = after && {
        $or: [{ [by]: { $gt: after.at } }, { [by]: after.at, _id: { $gt: after.key } }],
      };
      const times = by === 'attentionAt' ? { $gte: 0, $lte: now } : { $gte: 0 };
      const order = { [by]: 1, _id: 1 } as const;
      const found = collection.find(
        { [by]: times, ...isAfter },
        { projection, collation, limit, sort: order },
      );
      return (await found.toArray()).map((document) => toListed(document, by));
    },

    async count() {
      const { now } = await read('');
      return {
        records: await collection.countDocuments({ createdAt: { $gte: 0 } }),
        attention: await collection.countDocuments({ attentionAt: { $lte: now } }),
      };
    },

    async claimDue({ kind, limit, lease }) {
      const { now, isDue } = await readDue(kind);
      const records: ListedRecord[] = [];
      while (records.length < limit) {
        const later = [{ $set: { dueAt: now + Math.ceil(lease) } }];
        const found = await collection.findOneAndUpdate(isDue, later, {
          projection,
          sort: { dueAt: 1, _id: 1 },
        });
        if (!found) break;
        records.push(toListed(found, 'dueAt'));
      }
      return { records, now };
    },

    async countDue({ kind }) {
      const { now, isDue, isLater } = await readDue(kind);
      const due = await collection.countDocuments(isDue);
      const next = await collection.findOne(isLater, { sort: { dueAt: 1 } });
      return { due, nextIn: next ? Number(next.dueAt) - now : null };
    },

    async delete(records) {
      if (records.length === 0) return 0;
      const unneeded = records.map(({ key, version }) => ({ _id: key, version }));
      return (await collection.deleteMany({ $or: unneeded }, { collation })).deletedCount;
    },
  };
}

function toListed(document: JournalDocument, by: 'createdAt' | 'attentionAt' | 'dueAt'): ListedRecord {
  const { _id, version, text } = document;
  return { key: _id, version, text, at: Number(document[by]) };
}
