import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Lets all test files of a run share what merchants install: test/helpers/installed-package.ts fills the folder. */
export default async function shareInstallations(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-installations-'));
  project.provide('installations', folder);
  return () => rm(folder, { recursive: true });
}
