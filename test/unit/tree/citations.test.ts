import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folders = '{src,test,examples,docs,bench}/**/*.{ts,tsx,js,mjs,md}';
const files = [
  ...globSync(['*.md', folders], { exclude: (path) => /node_modules|docs\/api|citations\.test/.test(path) }),
];

test('cites no page that readers do not have', () => {
  expect(files.length).toBeGreaterThan(300);
  const citing = files.filter((file) => /\b(?:SPEC|DESIGN|STYLE)\.md\b/.test(readFileSync(file, 'utf8')));
  expect(citing).toEqual([]);
});
