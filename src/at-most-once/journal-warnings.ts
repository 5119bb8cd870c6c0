import * as z from 'zod/mini';
import type { Report } from '../events.ts';
import type { Journal } from '../journal/journal.ts';
import { within } from '../transport/deadline.ts';
import { PATIENCE } from './patience.ts';

const warningsSchema = z.array(z.object({ setting: z.string(), value: z.string(), message: z.string() }));

const asked = new WeakSet<Journal>();

/** Reports how a journal could lose records, once for each. It holds up no charge, and fails none. */
export function reportWarnings(journal: Journal, report: Report): void {
  if (typeof journal.warnings !== 'function' || asked.has(journal)) return;
  asked.add(journal);
  within(PATIENCE, undefined, async () => warningsSchema.parse(await journal.warnings?.()))
    .then((warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    })
    .catch(() => {});
}
