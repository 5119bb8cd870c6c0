import { existsSync, globSync, readFileSync } from 'node:fs';
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

const CITATION = /\b(?<page>docs\/[\w/-]+\.md)(?:, "(?<heading>[^"\n]+)")?/g;

test('cites only existing pages and headings', () => {
  const cited = globSync('{src,bench,test/helpers}/**/*.{ts,yaml}', {
    exclude: (path) => path.includes('node_modules'),
  }).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(CITATION)].map(({ groups }) => ({
      file,
      page: groups?.page ?? '',
      heading: groups?.heading,
    })),
  );
  expect(cited.length).toBeGreaterThan(15);
  expect(cited.filter(({ page, heading }) => !isThere(page, heading))).toEqual([]);
});

function isThere(page: string, heading: string | undefined): boolean {
  if (!existsSync(page)) return false;
  return heading === undefined || readFileSync(page, 'utf8').includes(`## ${heading}\n`);
}
