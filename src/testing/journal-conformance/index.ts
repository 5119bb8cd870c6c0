import { claimCases } from './claims.ts';
import { completionCases } from './completions.ts';
import { ConformanceContext, type OpenJournal } from './context.ts';
import { recordCases } from './records.ts';
import { resolutionCases } from './resolutions.ts';

export type { OpenedJournal, OpenJournal } from './context.ts';

/** One promise of a journal. */
export interface JournalCase {
  /** The promise. */
  readonly name: string;
  /** Rejects with an Error whose message describes how the promise is broken. */
  run(): Promise<void>;
}

/**
 * Returns what every journal must do, as cases for any test runner: one claim for each key, a crash between any two
 * steps, other input, resolutions, unusual keys and results. Do not charge with a journal on your own `JournalStore`
 * before it passes.
 *
 * All cases can share one storage, and can run at the same time: no case uses the keys of another, and nothing needs to
 * be emptied. A case takes up to two seconds. Give the cases a storage of their own (table, file or prefix). It then
 * belongs to their service, and no client can use it.
 *
 * @example
 * ```ts
 * for (const { name, run } of journalConformance((options) => createJournal(myStore(), options))) {
 *   test(name, run);
 * }
 * ```
 *
 * @example
 * ```ts
 * const cases = journalConformance((options) => {
 *   const connection = connect();
 *   return { journal: createJournal(storeOn(connection), options), close: () => connection.end() };
 * });
 * ```
 */
export function journalConformance(open: OpenJournal): JournalCase[] {
  const cases = [...claimCases, ...completionCases, ...resolutionCases, ...recordCases];
  return cases.map(({ name, test }) => ({
    name,
    async run() {
      const context = new ConformanceContext(open);
      try {
        await test(context);
      } finally {
        await context.closeAll();
      }
    },
  }));
}
