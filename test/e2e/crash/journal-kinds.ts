/**
 * The journal that a run is on: `sqlite`, `postgres`, `redis`, one of those that break the promise, or a file of
 * `test/e2e/databases/kinds`.
 */
export type JournalKind = string;

/** The journals that need no other package than those of the root. */
export const ownKinds: readonly JournalKind[] = ['sqlite', 'postgres', 'redis'];

/**
 * Those that must charge twice: no journal, a journal that ends with its process, and one that takes an expired lease as
 * proof that nothing was sent.
 */
export const negativeControls: readonly JournalKind[] = ['none', 'memory', 'frees expired keys'];

/** Whether two workers charge each key at once. Only a journal that they share can stop them. */
export const isRaced = (kind: JournalKind) => kind !== 'none' && kind !== 'memory';
