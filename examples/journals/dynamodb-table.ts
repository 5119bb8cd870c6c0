import { createHash } from 'node:crypto';
import type { AttributeValue, CreateTableInput, DynamoDB, QueryOutput } from '@aws-sdk/client-dynamodb';

const indexes = ['createdAt', 'attentionAt', 'dueAt'] as const;

/** The table, but for its name. Its indexes are local ones: they can be made only together with the table. */
export const journalTable = {
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [
    { AttributeName: 'slot', AttributeType: 'N' },
    ...(['id', ...indexes] as const).map((name) => ({ AttributeName: name, AttributeType: 'S' }) as const),
  ],
  KeySchema: [
    { AttributeName: 'slot', KeyType: 'HASH' },
    { AttributeName: 'id', KeyType: 'RANGE' },
  ],
  LocalSecondaryIndexes: indexes.map((name) => ({
    IndexName: name,
    KeySchema: [
      { AttributeName: 'slot', KeyType: 'HASH' },
      { AttributeName: name, KeyType: 'RANGE' },
    ],
    // With a part of the record only, a query would read the rest later, when the record might have moved.
    Projection: { ProjectionType: 'ALL' },
  })),
} satisfies Omit<CreateTableInput, 'TableName'>;

/** In how many partitions the records are. Never change it: most records would not be found again. */
const SLOTS = 8;
const slots = Array.from({ length: SLOTS }, (_, slot) => ({ N: String(slot) }));

export type Item = Record<string, AttributeValue>;
type Table = { readonly db: DynamoDB; readonly TableName: string };
export type Index = (typeof indexes)[number];
/** The first and the last text, both included. */
type Range = readonly [from: string, to: string];

const hash = (text: string) => createHash('sha256').update(text).digest();

/** A position in an index has at most 1,024 bytes: a kind and a space, 16 digits, and the id. */
const MAX_ID_BYTES = 1024 - 'order '.length - 16;

/** Returns the key, or the beginning of one that is too long, with its digest. No key has a tab. */
export function toId(key: string): string {
  if (Buffer.byteLength(key) <= MAX_ID_BYTES) return key;
  return `${[...key].slice(0, 200).join('')}\t${hash(key).toString('hex')}`;
}

export function primaryKey(key: string): Item {
  return { slot: { N: String(hash(key).readUInt8() % SLOTS) }, id: { S: toId(key) } };
}

/** With as many digits each, times are in order as text too. */
export const digits = (milliseconds: number) => String(Math.ceil(milliseconds)).padStart(16, '0');

/** Returns the first items of an index, in order of their bytes. JavaScript would compare UTF-16. */
export async function findItems(table: Table, index: Index, range: Range, limit: number): Promise<Item[]> {
  const findIn = async (slot: AttributeValue) => {
    const items: Item[] = [];
    for await (const { Items = [] } of readPages(table, index, range, slot, limit))
      if (items.push(...Items) >= limit) break;
    return items;
  };
  const items = (await Promise.all(slots.map(findIn))).flat();
  const bytes = (item: Item) => Buffer.from(item[index]?.S ?? '');
  return items.sort((one, other) => Buffer.compare(bytes(one), bytes(other))).slice(0, limit);
}

export async function countItems(table: Table, index: Index, range: Range): Promise<number> {
  const countIn = async (slot: AttributeValue) => {
    let count = 0;
    for await (const { Count = 0 } of readPages(table, index, range, slot)) count += Count;
    return count;
  };
  return (await Promise.all(slots.map(countIn))).reduce((sum, count) => sum + count);
}

/** Yields what an index has in one slot. A local index, unlike a global one, sees every write that has resolved. */
async function* readPages(
  { db, TableName }: Table,
  index: Index,
  [from, to]: Range,
  slot: AttributeValue,
  limit?: number,
): AsyncGenerator<QueryOutput> {
  let ExclusiveStartKey: Item | undefined;
  do {
    const page: QueryOutput = await db.query({
      TableName,
      IndexName: index,
      Select: limit === undefined ? 'COUNT' : 'ALL_ATTRIBUTES',
      Limit: limit,
      ConsistentRead: true,
      KeyConditionExpression: `slot = :slot AND ${index} BETWEEN :from AND :to`,
      ExpressionAttributeValues: { ':slot': slot, ':from': { S: from }, ':to': { S: to } },
      ExclusiveStartKey,
    });
    yield page;
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
}
