import * as z from 'zod/mini';
import { ConfigurationError } from '../../errors.ts';
import { type OptionsShape, optionalValue, parseOptions } from '../../parse-options.ts';
import { claimCases } from './claims.ts';
import { type ConformanceCases, ConformanceContext, createWithoutCase, type OpenJournal } from './context.ts';
import { deletionCases } from './deletions.ts';
import { followUpCases } from './follow-ups.ts';
import { listCases } from './lists.ts';
import { recordCases } from './records.ts';

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
   * then takes the place of those: the journal charges all the same.
   *
   * @default [] every case is run, and fails if the store has not the method that it needs
   */
  without?: readonly ('list' | 'followUps' | 'prune')[] | undefined;
}

/**
 * Returns what every journal needs of its store, as cases for any test runner: one claim for each key, a process that dies
 * between two steps, unusual keys and results, lists, what is due for a follow-up, and what is deleted. Do not charge with a
 * journal on your own `JournalStore` before it passes.
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
  const parts = [
    [undefined, { ...claimCases, ...recordCases }] as const,
    ...optionalParts.map(
      ([part, cases, withoutCase]) => [part, without.includes(part) ? withoutCase : cases] as const,
    ),
  ];
  return parts.flatMap(([part, cases]) =>
    Object.entries(cases).map(([name, test]) => ({ name, run: () => runCase(open, test, part) })),
  );
}

/** Each with its cases, and with the one that takes their place for a store without it. */
const optionalParts: readonly (readonly [OptionalPart, ConformanceCases, ConformanceCases])[] = [
  ['list', listCases, createWithoutCase('list')],
  ['followUps', followUpCases, createWithoutCase('claimDue', 'countDue')],
  ['prune', deletionCases, createWithoutCase('delete')],
];

const optionsSchema = z.strictObject({
  without: optionalValue<readonly OptionalPart[]>(
    (value) => Array.isArray(value) && value.every((part) => optionalParts.some(([name]) => name === part)),
    "without must be a list of 'list', 'followUps' and 'prune'.",
  ),
} satisfies OptionsShape<JournalConformanceOptions>);

async function runCase(
  open: OpenJournal,
  test: ConformanceCases[string],
  part?: OptionalPart,
): Promise<void> {
  const context = new ConformanceContext(open);
  try {
    await test(context);
  } catch (error) {
    if (!(part && error instanceof ConfigurationError)) throw error;
    // A store that has not all methods might be so on purpose.
    const hint = `If that is on purpose, pass { without: ['${part}'] } to journalConformance.`;
    throw new Error(`${error.message} ${hint}`, { cause: error });
  } finally {
    await context.closeAll();
  }
}
