import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from './pages.ts';

const pictures = globSync('docs/images/*.png', { cwd: root });

test('finds the screenshots', () => {
  expect(pictures.length).toBeGreaterThan(2);
});

// `node test/e2e/browser/programs/pictures.ts` takes them.
test.each(pictures)('%s shows a phone of 390 pixels, twice as sharp', (file) => {
  // A PNG has its width here.
  expect(readFileSync(root + file).readUInt32BE(16)).toBe(780);
});
