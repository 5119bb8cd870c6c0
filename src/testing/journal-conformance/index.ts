import type { JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import { claimCases } from './claims.ts';
import { endingCases } from './completions.ts';
import { ConformanceContext } from './context.ts';
import { recordCases } from './records.ts';
import { settlingCases } from './resolutions.ts';

/** A handle on the storage, and how it is closed where it has to be. */
export type OpenedJournal = Journal | { readonly journal: Journal; close(): unknown };

/**
 * Gives a new handle on one and the same storage, as another process would make it, with the `lease` and the `retention`
 * that it is given. It is called several times for each case.
 */
export type OpenJournal = (options: JournalOptions) => OpenedJournal | Promise<OpenedJournal>;

/** One promise of a journal. */
export interface JournalCase {
  /** The promise. */
  readonly name: string;
  /** Rejects with an Error that says how it is broken. */
  run(): Promise<void>;
}

/**
 * What every journal has to keep, as cases for any test runner: one claim for each key, a crash between any two steps,
 * other input, settling, odd keys and results. A journal over a `JournalStore` of yours is fit for use once it passes.
 *
 * No case touches the keys of another one, so that one storage does for all, and nothing has to be emptied. A case takes
 * up to two seconds; they may run side by side. Give the cases a storage of their own (table, file or prefix): it then
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
  const cases = [...claimCases, ...endingCases, ...settlingCases, ...recordCases];
  return cases.map(({ name, play }) => ({
    name,
    async run() {
      const stage = new ConformanceContext(open);
      try {
        await play(stage);
      } finally {
        await stage.closeAll();
      }
    },
  }));
}
