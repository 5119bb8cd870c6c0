import { randomInt } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

if (process.env.PROPERTY_SEED === undefined) {
  process.env.PROPERTY_SEED = String(randomInt(2 ** 31));
  console.log(`Property tests use the seed ${process.env.PROPERTY_SEED}. PROPERTY_SEED sets it.`);
}

/** What `npm test` and `npm run test:exhaustive` have in common. */
export const common = {
  // A test that hangs fails by this. No promise is held by it, since other processes can keep the machine busy.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  restoreMocks: true,
  setupFiles: ['test/support/setup.ts'],
  // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
  maxWorkers: 3,
};

/** These have a configuration of their own. */
export const elsewhere = 'test/{integrations,package,workflows}/**';

/** The test files in whose text, or in that of a module below `test` that they import, a pattern is found. */
export function testFilesWith(pattern: RegExp): string[] {
  const others = ['test/integrations', 'test/package', 'test/workflows'];
  return globSync('test/**/*.test.ts', { exclude: others }).filter((file) => contains(file, pattern));
}

function contains(file: string, pattern: RegExp, seen = new Set<string>()): boolean {
  if (seen.has(file) || !file.startsWith('test') || !existsSync(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  if (pattern.test(text)) return true;
  const imports = text.matchAll(/(?:from|import) ?\(?'(\.[^']+\.ts)'/g);
  return [...imports].some(([, path = '']) => contains(join(dirname(file), path), pattern, seen));
}
