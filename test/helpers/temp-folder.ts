import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a folder for a test. `remove` deletes it with its contents. */
export function createTempFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'payments-journal-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
