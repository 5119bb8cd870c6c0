/** The journals that are tried. */
export const journalKinds = ['sqlite', 'postgres', 'redis', 'none', 'memory', 'expired is free'] as const;

export type JournalKind = (typeof journalKinds)[number];

/** Those that have to fail: no journal, one that dies with its process, one that takes the dead for innocent. */
export const controls: readonly JournalKind[] = ['none', 'memory', 'expired is free'];

/** Whether each key is tried by two workers at once: only a journal that they share could stop them. */
export const raced = (kind: JournalKind) => kind !== 'none' && kind !== 'memory';
