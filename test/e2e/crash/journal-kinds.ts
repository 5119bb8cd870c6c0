/** The journals that the crash test runs on. */
export const journalKinds = ['sqlite', 'postgres', 'redis', 'none', 'memory', 'frees expired keys'] as const;

export type JournalKind = (typeof journalKinds)[number];

/**
 * Those that must charge twice: no journal, a journal that ends with its process, and one that takes an expired lease as
 * proof that nothing was sent.
 */
export const negativeControls: readonly JournalKind[] = ['none', 'memory', 'frees expired keys'];

/** Whether two workers charge each key at once. Only a journal that they share can stop them. */
export const isRaced = (kind: JournalKind) => kind !== 'none' && kind !== 'memory';
