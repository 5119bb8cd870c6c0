import type { Report } from '../events.ts';
import type { JournalCore } from './core.ts';

const checked = new WeakSet<JournalCore>();

/**
 * Reports the settings with which a journal could lose records, once for each journal. It runs in the background: no
 * charge waits for it, and none fails because of it.
 */
export function reportWarnings(journal: JournalCore, report: Report): void {
  if (!journal.warnings || checked.has(journal)) return;
  checked.add(journal);
  journal.warnings().then(
    (warnings) => {
      for (const warning of warnings) report({ type: 'journal_warning', ...warning });
    },
    () => {},
  );
}
