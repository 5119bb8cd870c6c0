/** Writes of records, for the tests of stores. */

import { expect } from 'vitest';
import type { JournalStore, RecordChange, RecordIndex, RecordWrite } from '../../src/journal/store.ts';

/** When the records of these tests began, in milliseconds since 1970. */
export const CREATED_AT = 1_700_000_000_000;

/** The first write of a record. */
export const firstWrite = (
  index: Partial<RecordIndex> | null = {},
  change: Partial<RecordChange> = {},
): RecordChange => ({
  expected: null,
  version: 'v1',
  text: '{}',
  mustCommit: true,
  index: index && { kind: 'key', createdAt: 1, attentionAt: null, dueAt: null, ...index },
  ...change,
});

/** The first write of a record that is due. */
export const change: RecordChange = firstWrite({ dueAt: 1 });

/** The first write of a record that is not due. */
export const changeWith = (index: Partial<RecordIndex>): RecordChange => firstWrite(index);

/** Fields of a write that a test is about. */
export interface ChangeFields extends Partial<Omit<RecordChange, 'index'>> {
  readonly index?: Partial<RecordIndex> | null;
}

/** Returns a write with a version of its own: the first one of a record, unless `expected` is named. */
export const createChange = ({ index = {}, ...fields }: ChangeFields = {}): RecordChange =>
  firstWrite(index && { createdAt: CREATED_AT, ...index }, { version: crypto.randomUUID(), ...fields });

export const createWrite = (key: string, fields?: ChangeFields): RecordWrite => ({
  key,
  change: createChange(fields),
});

/** Writes a record, and returns its version. */
export async function writeNew(store: JournalStore, key: string, fields?: ChangeFields): Promise<string> {
  const written = createChange(fields);
  expect(await store.write(key, written)).toBe(true);
  return written.version;
}

/** Returns the version of a record, or `null`. */
export const readVersion = async (store: JournalStore, key: string) =>
  (await store.read(key)).record?.version ?? null;

export const nameKeys = (count: number) => Array.from({ length: count }, (_, index) => `order ${index}`);

export const listAll = { by: 'createdAt', after: null, limit: 100 } as const;
export const listAttention = { ...listAll, by: 'attentionAt' } as const;
export const claimKeys = { kind: 'key', limit: 100, lease: 60_000 } as const;
