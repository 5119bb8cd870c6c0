import type { Db, IndexDescription } from 'mongodb';
import {
  type JournalStore,
  type ListedRecord,
  MAX_DUE_IN,
  type RecordIndex,
  type RecordKind,
} from 'payment-collection-client/journal';

/** Make these once. Make the collection without a collation: with one, `order-A` and `order-a` could be one key. */
export const journalIndexes: IndexDescription[] = [
  { key: { 'index.state': 1, 'index.createdAt': 1, _id: 1 } },
  { key: { 'index.reference': 1, 'index.createdAt': 1, _id: 1 } },
  { key: { 'index.kind': 1, dueAt: 1 }, partialFilterExpression: { dueAt: { $exists: true } } },
];

interface JournalDocument {
  /** The key. */
  _id: string;
  version: string;
  text: string;
  writtenAt: Date;
  dueAt?: Date;
  index?: RecordIndex;
  /** These two are computed when it is read. */
  createdAt?: number;
  age?: number;
}

/** All times are by the server's clock, `$$NOW`. */
const projection = {
  version: 1,
  text: 1,
  createdAt: '$index.createdAt',
  age: { $subtract: ['$$NOW', '$writtenAt'] },
};
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

  const read = async (key: string) => {
    const found = await collection.findOne(
      { _id: key },
      { projection, collation, readConcern: 'linearizable', maxTimeMS: 10_000 },
    );
    return found && toListed(found);
  };
  /** As a filter: due by the server's clock, or later than any write makes it, because that clock went back. */
  const readDue = async (kind: RecordKind) => {
    const { localTime } = await db.command({ hello: 1 });
    const now = new Date(localTime);
    const last = new Date(now.getTime() + MAX_DUE_IN);
    return {
      now,
      isDue: { 'index.kind': kind, $or: [{ dueAt: { $lte: now } }, { dueAt: { $gt: last } }] },
      isLater: { 'index.kind': kind, dueAt: { $gt: now, $lte: last } },
    };
  };

  return {
    read,

    async write(key, { expected, version, text, index, dueIn }) {
      // Without $literal, a text that begins with a dollar sign would be the name of a field.
      const values = {
        version: { $literal: version },
        text: { $literal: text },
        index: index ? { $literal: index } : '$$REMOVE',
        writtenAt: '$$NOW',
        dueAt: dueIn === null ? '$$REMOVE' : { $add: ['$$NOW', Math.ceil(dueIn)] },
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

    async list({ by, value, after, limit }) {
      // This server is still the primary: it has every write that has resolved. Only a read of one document can show that.
      await read('');
      const isAfter = after && {
        $or: [
          { 'index.createdAt': { $gt: after.createdAt } },
          { 'index.createdAt': after.createdAt, _id: { $gt: after.key } },
        ],
      };
      const order = { 'index.createdAt': 1, _id: 1 } as const;
      const found = collection.find(
        { [`index.${by}`]: value, ...isAfter },
        { projection, collation, limit, sort: order },
      );
      return (await found.toArray()).map(toListed);
    },

    async count() {
      const groups = collection.aggregate<{ _id: string; count: number }>([
        { $match: { 'index.state': { $exists: true } } },
        { $group: { _id: '$index.state', count: { $sum: 1 } } },
      ]);
      return Object.fromEntries((await groups.toArray()).map((group) => [group._id, group.count]));
    },

    async claimDue({ kind, limit, lease }) {
      const { isDue } = await readDue(kind);
      const claimed: ListedRecord[] = [];
      while (claimed.length < limit) {
        const later = [{ $set: { dueAt: { $add: ['$$NOW', Math.ceil(lease)] } } }];
        const found = await collection.findOneAndUpdate(isDue, later, { projection, sort: { dueAt: 1 } });
        if (!found) break;
        claimed.push(toListed(found));
      }
      return claimed;
    },

    async countDue({ kind }) {
      const { now, isDue, isLater } = await readDue(kind);
      const due = await collection.countDocuments(isDue);
      const next = await collection.findOne(isLater, { sort: { dueAt: 1 } });
      return { due, nextIn: next?.dueAt ? next.dueAt.getTime() - now.getTime() : null };
    },

    async delete(records) {
      if (records.length === 0) return 0;
      const unneeded = records.map(({ key, version }) => ({ _id: key, version }));
      return (await collection.deleteMany({ $or: unneeded }, { collation })).deletedCount;
    },
  };
}

function toListed({ _id, version, text, age, createdAt }: JournalDocument): ListedRecord {
  return { key: _id, version, text, age: Number(age), createdAt: Number(createdAt) };
}
