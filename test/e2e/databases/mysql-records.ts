import type { JournalStore, RecordChange, RecordIndex, RecordKind } from '../../../src/journal/store.ts';

/** When the records of these tests began, in milliseconds since 1970. */
export const CREATED_AT = 1_700_000_000_000;

const INDEX: RecordIndex = { kind: 'key', createdAt: CREATED_AT, attentionAt: null, dueAt: null };

/** Fields of a write that a test is about. */
export interface ChangeFields extends Partial<Omit<RecordChange, 'index'>> {
  readonly index?: Partial<RecordIndex> | null;
}

/** Returns a write with a version of its own: the first one of a record, unless `expected` is named. */
export function createChange({ index = {}, ...fields }: ChangeFields = {}): RecordChange {
  const common = { expected: null, version: crypto.randomUUID(), text: '{}', mustCommit: true };
  return { ...common, ...fields, index: index && { ...INDEX, ...index } };
}

/** Writes a record that is not there yet, and returns its version. */
export async function insertRecord(store: JournalStore, key: string, fields?: ChangeFields): Promise<string> {
  const change = createChange(fields);
  if (!(await store.write(key, change))) throw new Error(`There is a record of ${key}.`);
  return change.version;
}

/** Writes a record that is due after `dueIn` milliseconds by the server's clock. */
export async function insertDue(store: JournalStore, key: string, dueIn = 0): Promise<void> {
  const { now } = await store.read(key);
  await insertRecord(store, key, { index: { dueAt: now + dueIn } });
}

export const readVersion = async (store: JournalStore, key: string) =>
  (await store.read(key)).record?.version ?? null;

export const nameKeys = (count: number) => Array.from({ length: count }, (_, index) => `order ${index}`);

type DueStore = Pick<Required<JournalStore>, 'claimDue'>;

/** Claims what is due, and returns the keys in their order. */
export async function claimDueKeys(store: DueStore, { limit = 1_000, lease = 60_000 } = {}) {
  const kind: RecordKind = 'key';
  return (await store.claimDue({ kind, limit, lease })).records.map(({ key }) => key);
}
