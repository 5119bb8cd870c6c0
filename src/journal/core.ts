import { ConfigurationError } from '../errors.ts';
import type { Report } from '../events.ts';
import { isObject } from '../support/untrusted.ts';
import type { JournalWarning } from './journal.ts';
import type { Records } from './records.ts';
import type { Resolution, ResolutionNote } from './resolution.ts';
import type { AskedService, ResolvedPayment } from './resolve.ts';

/** The same symbol in an ES module and in CommonJS: one application can load both. */
export const JOURNAL_CORE: unique symbol = Symbol.for('payment-collection-client.journal');

/** What the package itself uses of a journal. Merchants see the methods of `Journal` only. */
export interface JournalCore {
  /** Of this interface: another version of the package refuses it. */
  readonly version: 1;
  readonly records: Records;
  /** Resolves a payment, once the service was asked: a client without a journal needs none of it. */
  readonly resolve: (
    key: string,
    resolution: Resolution,
    note: ResolutionNote,
    service?: AskedService,
  ) => Promise<ResolvedPayment>;
  /** Returns the settings of the database with which a record could be lost. */
  readonly readWarnings: (() => Promise<readonly JournalWarning[]>) | undefined;
}

const isCore = (value: unknown): value is JournalCore =>
  isObject(value) && 'version' in value && value.version === 1;

/** @throws {ConfigurationError} if it is not a journal that this version of the package made. */
export function getCore(journal: unknown): JournalCore {
  const core: unknown =
    isObject(journal) && Object.hasOwn(journal, JOURNAL_CORE)
      ? Reflect.get(journal, JOURNAL_CORE)
      : undefined;
  if (isCore(core)) return core;
  const problem = isObject(core)
    ? 'The journal is of another version of this package: use one version for client and journal.'
    : 'journal must be a journal of this package, such as postgresJournal(pool), or createJournal(store) on a store of ' +
      'your own. It cannot be wrapped or copied.';
  throw new ConfigurationError(problem);
}

/** @throws {ConfigurationError} if it is not a journal that this version of the package made. */
export const getRecords = (journal: unknown): Records => getCore(journal).records;

const checked = new WeakSet<JournalCore>();

/**
 * Reports the settings with which a journal could lose records, once for each journal. It runs in the background: no
 * charge waits for it, and none fails because of it.
 */
export function reportWarnings(journal: unknown, report: Report): void {
  const core = getCore(journal);
  if (!core.readWarnings || checked.has(core)) return;
  checked.add(core);
  core.readWarnings().then(
    (warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    },
    () => {},
  );
}
