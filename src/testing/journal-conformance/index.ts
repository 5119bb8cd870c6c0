import * as z from 'zod/mini';
import { ConfigurationError } from '../../errors.ts';
import { type OptionsShape, optionalValue, parseOptions } from '../../parse-options.ts';
import { claimCases } from './claims.ts';
import { completionCases } from './completions.ts';
import { ConformanceContext, type ConformanceTest, type OpenJournal } from './context.ts';
import { deletionCases, withoutDeleteCase } from './deletions.ts';
import { followUpCases, withoutFollowUpsCase } from './follow-ups.ts';
import { groupCases } from './groups.ts';
import { historyCases } from './histories.ts';
import { listCases, withoutListCase } from './lists.ts';
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

/** A part of a journal that a store can be without. */
type OptionalPart = NonNullable<JournalConformanceOptions['without']>[number];

/** What {@link journalConformance} takes besides the function that opens a handle. */
export interface JournalConformanceOptions {
  /**
   * What the store does not have on purpose: `list`, `claimDue` and `countDue` (`followUps`), or `delete` (`prune`). One case
   * then takes the place of those: the journal says which method is missing, and charges all the same.
   *
   * @default [] every case is run, and fails if the store has not the method that it needs
   */
  without?: readonly ('list' | 'followUps' | 'prune')[] | undefined;
}

/**
 * Returns what every journal must do, as cases for any test runner: one claim for each key, a crash between any two
 * steps, other input, resolutions, history, lists, what is due for a follow-up, what is deleted, unusual keys and results. Do
 * not charge with a journal on your own `JournalStore` before it passes.
 *
 * Each case has an empty storage of its own: `open` gets its name, for a table, a file or a prefix. The cases can run at the
 * same time, and a case takes up to three seconds. The names begin with `conformance_`: drop the tables afterwards.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * for (const { name, run } of journalConformance((options, storage) => createJournal(myStore(storage), options))) {
 *   test(name, run);
 * }
 * ```
 *
 * @example
 * ```ts
 * const cases = journalConformance((options, storage) => {
 *   const connection = connect();
 *   return { journal: createJournal(storeOn(connection, storage), options), close: () => connection.end() };
 * });
 * ```
 *
 * @example
 * ```ts
 * // A store with read and write only: it protects charges.
 * const cases = journalConformance(openJournal, { without: ['list', 'followUps', 'prune'] });
 * ```
 */
export function journalConformance(
  open: OpenJournal,
  options: JournalConformanceOptions = {},
): JournalCase[] {
  const { without = [] } = parseOptions(optionsSchema, options, {
    notAnObject: "journalConformance takes an object, such as { without: ['list'] }.",
  });
  const optionalCases = optionalParts.flatMap(([part, cases, withoutCase]) =>
    without.includes(part) ? [withoutCase] : cases.map((test) => hintAt(part, test)),
  );
  return [...requiredCases, ...optionalCases].map(({ name, test }) => ({
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

const requiredCases = [
  ...claimCases,
  ...completionCases,
  ...resolutionCases,
  ...historyCases,
  ...recordCases,
  ...groupCases,
];

/** Each with its cases, and with the one that takes their place for a store without it. */
const optionalParts: readonly (readonly [OptionalPart, readonly ConformanceTest[], ConformanceTest])[] = [
  ['list', listCases, withoutListCase],
  ['followUps', followUpCases, withoutFollowUpsCase],
  ['prune', deletionCases, withoutDeleteCase],
];

const optionsSchema = z.strictObject({
  without: optionalValue<readonly OptionalPart[]>(
    (value) => Array.isArray(value) && value.every((part) => optionalParts.some(([name]) => name === part)),
    "without must be a list of 'list', 'followUps' and 'prune'.",
  ),
} satisfies OptionsShape<JournalConformanceOptions>);

/** A store that has not all methods might be so on purpose: the error says what to do then. */
function hintAt(part: OptionalPart, { name, test }: ConformanceTest): ConformanceTest {
  return {
    name,
    async test(context) {
      try {
        await test(context);
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        const hint = `If that is on purpose, pass { without: ['${part}'] } to journalConformance.`;
        throw new Error(`${error.message} ${hint}`, { cause: error });
      }
    },
  };
}
