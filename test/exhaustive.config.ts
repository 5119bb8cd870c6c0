import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { common, elsewhere, exhaustiveOnly } from './common.ts';

const SIZED = join('test', 'helpers', 'sized.ts');

/** Whether a module imports the sizes, itself or through others. */
function isSized(file: string, seen = new Set<string>()): boolean {
  if (file === SIZED) return true;
  if (seen.has(file) || !file.startsWith('test') || !existsSync(file)) return false;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?'(\.[^']+\.ts)'/g);
  return [...imports].some(([, path = '']) => isSized(join(dirname(file), path), seen));
}

const files = globSync('test/**/*.test.ts', { exclude: elsewhere }).filter((file) => isSized(file));

// npm run test:exhaustive: the tests that npm test runs in a short form, in their whole size, and those that it leaves out.
export default defineConfig({
  test: {
    ...common,
    testTimeout: 1_800_000,
    env: { TEST_SIZE: 'exhaustive' },
    projects: [
      { extends: true, test: { name: 'exhaustive', include: [...files, ...exhaustiveOnly] } },
      {
        // Merchants might still have MSW 2.
        extends: true,
        resolve: { alias: [{ find: /^msw(\/.*)?$/, replacement: 'msw-2$1' }] },
        test: {
          name: 'msw 2',
          include: ['test/unit/testing/*.test.ts'],
          exclude: ['test/unit/testing/{optional-peer,printing}.test.ts'],
        },
      },
    ],
  },
});
