import * as z from 'zod/mini';
import { type OptionsShape, optionalValue, parseOptions } from '../../parse-options.ts';
import {
  assert,
  type ConformanceCases,
  ConformanceContext,
  expectRecord,
  type OpenStore,
  type OptionalPart,
  optionalMethods,
  writeRecord,
} from './context.ts';
import { deletionCases } from './deletions.ts';
import { followUpCases } from './follow-ups.ts';
import { listCases } from './lists.ts';
import { recordCases } from './records.ts';

export type { OpenedStore, OpenStore } from './context.ts';

/** One promise of a `JournalStore`. */
export interface JournalCase {
  /** The promise. */
  readonly name: string;
  /** Rejects with an Error whose message describes how the promise is broken. */
  run(): Promise<void>;
}

/** What {@link journalConformance} takes besides the function that opens a handle. */
export interface JournalConformanceOptions {
  /**
   * What the store does not have on purpose: `list` and `count` (`list`), `claimDue` and `countDue` (`followUps`), or `delete`
   * (`prune`). One case then takes the place of those: the store keeps records all the same.
   *
   * @default [] every case is run, and fails if the store has not the method that it needs
   */
  without?: readonly ('list' | 'followUps' | 'prune')[] | undefined;
}

/**
 * Returns the promises of a `JournalStore`, as cases for any test runner. Do not charge with a journal on your own store
 * before it passes. No case can show that a record survives a crash of the machine.
 *
 * `open` returns a handle on a storage, or `{ store, close }`: {@link OpenStore}. The cases can run at the same time, and
 * wait a second at most by the clock of the store. Storages are named `conformance_…`: drop the tables afterwards.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * import { test } from 'node:test';
 *
 * const stores: Record<string, ReturnType<typeof memoryStore>> = {}; // in place of them: tables of your database
 * const open = (storage: string) => (stores[storage] ??= memoryStore());
 * // `without: ['list', 'followUps', 'prune']` is for a store with read and write only.
 * for (const { name, run } of journalConformance(open)) test(name, run);
 * ```
 */
export function journalConformance(open: OpenStore, options: JournalConformanceOptions = {}): JournalCase[] {
  const { without = [] } = parseOptions(optionsSchema, options, {
    notAnObject: "journalConformance takes an object, such as { without: ['list'] }.",
  });
  const parts = [
    recordCases,
    ...optionalParts.map(([part, cases]) => (without.includes(part) ? createWithoutCase(part) : cases)),
  ];
  return parts.flatMap((cases) =>
    Object.entries(cases).map(([name, test]) => ({ name, run: () => runCase(open, test) })),
  );
}

const optionalParts: readonly (readonly [OptionalPart, ConformanceCases])[] = [
  ['list', listCases],
  ['followUps', followUpCases],
  ['prune', deletionCases],
];

/** Of a store that has not these methods. It keeps records all the same. */
function createWithoutCase(part: OptionalPart): ConformanceCases {
  const methods = optionalMethods[part];
  return {
    async [`keeps records without ${methods.join(' and ')}`](context) {
      const store = await context.openHandle();
      const present = methods.find((method) => store[method] !== undefined);
      assert(!present, `the store has ${present}: remove '${part}' from "without", so that it is tested`);
      const change = await writeRecord(store, 'order 17', { attentionAt: 0, dueAt: 0 });
      await expectRecord(store, 'order 17', change, 'after a write');
    },
  };
}

const optionsSchema = z.strictObject({
  without: optionalValue<readonly OptionalPart[]>(
    (value) => Array.isArray(value) && value.every((part) => optionalParts.some(([name]) => name === part)),
    "without must be a list of 'list', 'followUps' and 'prune'.",
  ),
} satisfies OptionsShape<JournalConformanceOptions>);

async function runCase(open: OpenStore, test: ConformanceCases[string]): Promise<void> {
  const context = new ConformanceContext(open);
  try {
    await test(context);
  } finally {
    await context.closeAll();
  }
}
