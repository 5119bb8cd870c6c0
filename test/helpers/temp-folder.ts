import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of the test's own; `remove` takes it away with all that is in it. */
export function tempFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'payments-journal-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
