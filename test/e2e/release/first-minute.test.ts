import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

const manifestSchema = z.object({ allowScripts: z.record(z.string(), z.boolean()) });
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      name: z.optional(z.string()),
      hasInstallScript: z.optional(z.boolean()),
      optional: z.optional(z.boolean()),
    }),
  ),
});

test('allows or denies every install script, so that npm ci never asks', () => {
  const { allowScripts } = manifestSchema.parse(read('package.json'));
  const { packages } = lockSchema.parse(read('package-lock.json'));
  const withScript = Object.entries(packages)
    // Optional packages are for one platform each, and most are not installed.
    .filter(([, { hasInstallScript, optional }]) => hasInstallScript && !optional)
    .map(([path, { name }]) => name ?? path.replace(/^.*node_modules\//, ''));
  expect(withScript).toContain('msw');
  expect(withScript.filter((name) => allowScripts[name] === undefined)).toEqual([]);
});

test('hides EBADENGINE warnings about the Node version', () => {
  expect(readFileSync('.npmrc', 'utf8')).toMatch(/^loglevel=error$/m);
});
