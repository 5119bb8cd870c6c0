import type { DynamoDB, PutItemInput } from '@aws-sdk/client-dynamodb';
import {
  type JournalStore,
  type ListedRecord,
  MAX_DUE_IN,
  type RecordKind,
} from 'payment-collection-client/journal';
import { countItems, digits, findItems, type Index, type Item, primaryKey, toId } from './dynamodb-table.ts';

/** A store in a table that was made from `journalTable`. */
export function dynamodbStore(db: DynamoDB, TableName: string): JournalStore {
  const table = { db, TableName };
  const read = async (key: string) => {
    const { Item } = await db.getItem({ TableName, Key: primaryKey(key), ConsistentRead: true });
    // DynamoDB has no clock that a write could use: the clocks of all processes must be right.
    return { record: Item ? toStored(Item) : null, now: Date.now() };
  };

  const claim = ({ key, id, version, dueAt }: Item, next: string) =>
    isDone(
      db.updateItem({
        TableName,
        Key: primaryKey(String(key?.S)),
        UpdateExpression: 'SET dueAt = :next',
        ConditionExpression: 'version = :version AND dueAt = :dueAt',
        ExpressionAttributeValues: {
          ':next': { S: next + id?.S },
          ':version': { S: String(version?.S) },
          ':dueAt': { S: String(dueAt?.S) },
        },
      }),
    );

  return {
    read,

    async write(key, { expected, version, text, index }) {
      const values = { key: { S: key }, version: { S: version }, text: { S: text } };
      const Item: Item = { ...primaryKey(key), ...values };
      if (index) {
        const { kind, createdAt, attentionAt, dueAt } = index;
        const id = toId(key);
        Item.createdAt = { S: digits(createdAt) + id };
        if (attentionAt !== null) Item.attentionAt = { S: digits(attentionAt) + id };
        if (dueAt !== null) Item.dueAt = { S: kindPrefix(kind) + digits(dueAt) + id };
      }
      const put: PutItemInput = { TableName, Item, ConditionExpression: 'attribute_not_exists(id)' };
      if (expected !== null) {
        put.ConditionExpression = 'version = :expected';
        put.ExpressionAttributeValues = { ':expected': { S: expected } };
      }
      if (await isDone(db.putItem(put))) return true;
      // The SDK repeats a write whose response was lost. The second one then fails because of the first.
      return (await read(key)).record?.version === version;
    },

    async list({ by, after, limit }) {
      const from = after ? digits(after.at) + toId(after.key) : digits(0);
      const to = by === 'attentionAt' ? digits(Date.now() + 1) : END;
      // DynamoDB refuses such a range: the clock was set back since the last page.
      if (from > to) return [];
      const items = await findItems(table, by, [from, to], limit + 1);
      const listed = items.map((item) => toListed(item, by)).filter(({ key }) => key !== after?.key);
      return listed.slice(0, limit);
    },

    async count() {
      const attention = [digits(0), digits(Date.now() + 1)] as const;
      return {
        records: await countItems(table, 'createdAt', [digits(0), END]),
        attention: await countItems(table, 'attentionAt', attention),
      };
    },

    async claimDue({ kind, limit, lease }) {
      const records: ListedRecord[] = [];
      const now = Date.now();
      const next = kindPrefix(kind) + digits(now + lease);
      for (;;) {
        const missing = limit - records.length;
        const due = await findItems(table, 'dueAt', dueBy(kind, now), missing);
        if (due.length < missing)
          due.push(...(await findItems(table, 'dueAt', dueTooLate(kind, now), missing - due.length)));
        const isClaimed = await Promise.all(due.map((item) => claim(item, next)));
        records.push(...due.filter((_, index) => isClaimed[index]).map((item) => toListed(item, 'dueAt')));
        // Another process claimed some of them: there might be others.
        if (!isClaimed.includes(false) || records.length === limit) return { records, now };
      }
    },

    async countDue({ kind }) {
      const now = Date.now();
      const [next] = await findItems(table, 'dueAt', dueLater(kind, now), 1);
      const due =
        (await countItems(table, 'dueAt', dueBy(kind, now))) +
        (await countItems(table, 'dueAt', dueTooLate(kind, now)));
      return { due, nextIn: next ? toListed(next, 'dueAt').at - now : null };
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

/** A colon comes after all digits. */
const END = ':';
const kindPrefix = (kind: RecordKind) => `${kind} `;
const withKind = (kind: RecordKind, from: string, to: string): Range => [
  kindPrefix(kind) + from,
  kindPrefix(kind) + to,
];
// Each position ends with a key: it comes after one without, which is where a range of an earlier time ends.
const dueBy = (kind: RecordKind, now: number) => withKind(kind, digits(0), digits(now + 1));
const dueLater = (kind: RecordKind, now: number) =>
  withKind(kind, digits(now + 1), digits(now + MAX_DUE_IN + 1));
/** Later than any write makes it: the clock that wrote it was wrong. */
const dueTooLate = (kind: RecordKind, now: number) => withKind(kind, digits(now + MAX_DUE_IN + 1), END);

const toStored = ({ version, text }: Item) => ({ version: String(version?.S), text: String(text?.S) });

function toListed(item: Item, by: Index): ListedRecord {
  // No kind has a digit.
  const [at] = /\d{16}/.exec(String(item[by]?.S)) ?? [];
  return { ...toStored(item), key: String(item.key?.S), at: Number(at) };
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
