import * as z from 'zod/mini';
import { ConfigurationError } from '../errors.ts';
import { optionalNumber, parseOptions, unchecked } from '../parse-options.ts';
import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';
import { JOURNAL_CORE, type JournalCore } from './core.ts';
import type { Journal, JournalWarning } from './journal.ts';
import { countRecords, listAttentionItems, listEntries, readEntry } from './list.ts';
import { pruneRecords } from './prune.ts';
import { Records } from './records.ts';
import { resolveKey } from './resolve.ts';
import type { JournalStore } from './store.ts';

/** What every journal takes. */
export interface JournalOptions {
  /**
   * How long a charge counts as in progress after the last heartbeat of its process, in milliseconds. A process that runs
   * sends three heartbeats per lease. After the lease the outcome is unknown; that is never a reason to send anything.
   *
   * @default 10_000
   */
  lease?: number | undefined;
}

/**
 * Makes a journal on a database of your own. Its handles in all processes share what the store holds.
 *
 * @throws {ConfigurationError} if an option cannot work, or if `store` is not a {@link JournalStore}.
 *
 * @example
 * ```ts
 * const payments = new PaymentsClient({ journal: createJournal(memoryStore(), { lease: 10_000 }) });
 * ```
 */
export function createJournal(store: JournalStore, options: JournalOptions = {}): Journal {
  return buildJournal(store, options);
}

/** As {@link createJournal}, for a journal that also knows which settings of its database could lose a record. */
export function buildJournal(
  store: JournalStore,
  options: JournalOptions,
  readWarnings?: () => Promise<readonly JournalWarning[]>,
): Journal {
  const { lease = 10_000 } = assertOptions(options);
  if (typeof store?.read !== 'function' || typeof store.write !== 'function')
    throw new ConfigurationError('createJournal takes a JournalStore: an object with read and write.');
  const records = new Records(store, lease);
  const core: JournalCore = {
    version: 1,
    records,
    resolve: (...resolving) => resolveKey(records, ...resolving),
    readWarnings,
  };
  const journal: Journal = {
    read: (key) => readEntry(records, key),
    list: (query = {}) => listEntries(records, query),
    listAttention: (query = {}) => listAttentionItems(records, query),
    count: () => countRecords(records),
    resolve: async (key, resolution, note) => {
      await core.resolve(key, resolution, note);
    },
    prune: (options) => pruneRecords(records, options),
  };
  // Not enumerable: a copy of a journal is none.
  return Object.defineProperty(journal, JOURNAL_CORE, { value: core });
}

const lease = /* @__PURE__ */ optionalNumber(
  (value) => value >= 100 && value <= MAX_TIMEOUT_MS,
  'lease must be milliseconds, at least 100 and under 2^31.',
);

/**
 * Checks the options of a journal, before anything is read from them.
 *
 * @param own the name of the journal's own option, which the journal checks.
 * @throws {ConfigurationError} if they are not a plain object, if one is unknown, or if `lease` cannot work.
 */
export function assertOptions<Options extends JournalOptions>(options: Options, own?: string): Options {
  const shape = own === undefined ? { lease } : { lease, [own]: unchecked<unknown>() };
  parseOptions(z.strictObject(shape), options, {
    notAnObject: 'The options of a journal must be an object, such as { lease: 10_000 }.',
  });
  return options;
}
