import type { DynamoDB, PutItemInput } from '@aws-sdk/client-dynamodb';
import {
  type JournalStore,
  type ListedRecord,
  MAX_DUE_IN,
  type RecordKind,
} from 'payment-collection-client/journal';
import {
  countItems,
  digits,
  findItems,
  type Item,
  MAX_KEY_BYTES,
  prefix,
  primaryKey,
} from './dynamodb-table.ts';

/** A store in a table that was made from `journalTable`. */
export function dynamodbStore(db: DynamoDB, TableName: string): JournalStore {
  const table = { db, TableName };
  const read = async (key: string) => {
    const { Item } = await db.getItem({ TableName, Key: primaryKey(key), ConsistentRead: true });
    return Item ? toListed(Item) : null;
  };

  const claim = ({ id, version, dueAt }: Item, kind: RecordKind, lease: number) =>
    isDone(
      db.updateItem({
        TableName,
        Key: primaryKey(String(id?.S)),
        UpdateExpression: 'SET dueAt = :next',
        ConditionExpression: 'version = :version AND dueAt = :dueAt',
        ExpressionAttributeValues: {
          ':next': { S: kindPrefix(kind) + digits(Date.now() + lease) },
          ':version': { S: String(version?.S) },
          ':dueAt': { S: String(dueAt?.S) },
        },
      }),
    );

  return {
    read,

    async write(key, { expected, version, text, index, dueIn }) {
      if (Buffer.byteLength(key) > MAX_KEY_BYTES)
        throw new RangeError(`A key has at most ${MAX_KEY_BYTES} bytes. Nothing was written.`);
      // DynamoDB has no clock that a write could use: the clocks of all processes must be right.
      const now = Date.now();
      const values = { version: { S: version }, text: { S: text }, writtenAt: { N: String(now) } };
      const Item: Item = { ...primaryKey(key), ...values };
      if (index && dueIn !== null) Item.dueAt = { S: kindPrefix(index.kind) + digits(now + dueIn) };
      if (index) Item.byState = { S: prefix(index.state) + digits(index.createdAt) + key };
      if (index && index.reference !== null)
        Item.byReference = { S: prefix(index.reference) + digits(index.createdAt) + key };
      const put: PutItemInput = { TableName, Item, ConditionExpression: 'attribute_not_exists(id)' };
      if (expected !== null) {
        put.ConditionExpression = 'version = :expected';
        put.ExpressionAttributeValues = { ':expected': { S: expected } };
      }
      if (await isDone(db.putItem(put))) return true;
      // The SDK repeats a write whose response was lost. The second one then fails because of the first.
      return (await read(key))?.version === version;
    },

    async list({ by, value, after, limit }) {
      const index = by === 'state' ? 'byState' : 'byReference';
      const from = prefix(value) + (after ? digits(after.createdAt) + after.key : '');
      const items = await findItems(table, index, [from, `${prefix(value)}:`], limit + 1);
      const listed = items.map(toListed).filter(({ key }) => key !== after?.key);
      return listed.slice(0, limit);
    },

    async claimDue({ kind, limit, lease }) {
      const claimed: ListedRecord[] = [];
      for (;;) {
        const now = Date.now();
        const missing = limit - claimed.length;
        const due = await findItems(table, 'dueAt', dueBy(kind, now), missing);
        if (due.length < missing)
          due.push(...(await findItems(table, 'dueAt', dueTooLate(kind, now), missing - due.length)));
        const isClaimed = await Promise.all(due.map((item) => claim(item, kind, lease)));
        claimed.push(...due.filter((_, index) => isClaimed[index]).map(toListed));
        // Another process claimed some of them: there might be others.
        if (!isClaimed.includes(false) || claimed.length === limit) return claimed;
      }
    },

    async countDue({ kind }) {
      const now = Date.now();
      const [next] = await findItems(table, 'dueAt', dueLater(kind, now), 1);
      const due =
        (await countItems(table, 'dueAt', dueBy(kind, now))) +
        (await countItems(table, 'dueAt', dueTooLate(kind, now)));
      return { due, nextIn: next ? Number(next.dueAt?.S?.slice(kindPrefix(kind).length)) - now : null };
    },

    async delete(records) {
      const isDeleted = await Promise.all(
        records.map(({ key, version }) =>
          isDone(
            db.deleteItem({
              TableName,
              Key: primaryKey(key),
              ConditionExpression: 'version = :version',
              ExpressionAttributeValues: { ':version': { S: version } },
            }),
          ),
        ),
      );
      return isDeleted.filter(Boolean).length;
    },
  };
}

type Range = readonly [from: string, to: string];

const kindPrefix = (kind: RecordKind) => `${kind} `;
const withKind = (kind: RecordKind, from: string, to: string): Range => [
  kindPrefix(kind) + from,
  kindPrefix(kind) + to,
];
const dueBy = (kind: RecordKind, now: number) => withKind(kind, digits(0), digits(now));
const dueLater = (kind: RecordKind, now: number) => withKind(kind, digits(now + 1), digits(now + MAX_DUE_IN));
/** Later than any write makes it: the clock that wrote it was wrong. */
const dueTooLate = (kind: RecordKind, now: number) => withKind(kind, digits(now + MAX_DUE_IN + 1), ':');

function toListed({ id, version, text, writtenAt, byState }: Item): ListedRecord {
  return {
    key: String(id?.S),
    version: String(version?.S),
    text: String(text?.S),
    age: Date.now() - Number(writtenAt?.N),
    createdAt: Number(byState?.S?.slice(16, 30)),
  };
}

/** Returns whether the condition of a write held. */
async function isDone(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
    throw error;
  }
}
