import type { RecordChange, RecordIndex } from '../../src/journal/index.ts';

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

export const listAll = { by: 'createdAt', after: null, limit: 100 } as const;
export const listAttention = { ...listAll, by: 'attentionAt' } as const;
export const claimKeys = { kind: 'key', limit: 100, lease: 60_000 } as const;
