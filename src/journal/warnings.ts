import * as z from 'zod/mini';
import type { Report } from '../events.ts';
import type { Journal, JournalWarning } from './journal.ts';

const warningsSchema = z.array(z.object({ setting: z.string(), value: z.string(), message: z.string() }));

const checked = new WeakSet<Journal>();

/**
 * Reports the settings with which a journal could lose records, once for each journal. It runs in the background: no
 * charge waits for it, and none fails because of it.
 */
export function reportWarnings(journal: Journal, report: Report): void {
  if (typeof journal.warnings !== 'function' || checked.has(journal)) return;
  checked.add(journal);
  readWarnings(journal).then(
    (warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    },
    () => {},
  );
}

/** A journal can be anyone's code, and what it returns becomes an event. */
const readWarnings = async (journal: Journal): Promise<JournalWarning[]> =>
  warningsSchema.parse(await journal.warnings?.());
