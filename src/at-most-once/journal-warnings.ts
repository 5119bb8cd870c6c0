import * as z from 'zod/mini';
import type { Report } from '../events.ts';
import type { Journal } from '../journal/journal.ts';

const warningsSchema = z.array(z.object({ setting: z.string(), value: z.string(), message: z.string() }));

const asked = new WeakSet<Journal>();

/** Reports how a journal could lose records, once for each. Nobody waits for it, and it fails no charge. */
export function reportWarnings(journal: Journal, report: Report): void {
  if (typeof journal.warnings !== 'function' || asked.has(journal)) return;
  asked.add(journal);
  warningsOf(journal).then(
    (warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    },
    () => {},
  );
}

const warningsOf = async (journal: Journal) => warningsSchema.parse(await journal.warnings?.());
