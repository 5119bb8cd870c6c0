import { expect, test } from 'vitest';
import { findBrokenLinks } from './links.ts';
import { isPacked, isReachable } from './packed.ts';
import { type Page, pages, root } from './pages.ts';

test('finds the pages', () => {
  expect(pages.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'docs/reference/errors.md']),
  );
});

test.each(pages.map((page) => [page.path, page] as const))(
  'links only to existing files and headings: %s',
  (_, page) => {
    expect(findBrokenLinks(page, root)).toEqual([]);
  },
);

const shipped = pages.filter(({ path }) => isPacked(path));

test.each(shipped.map((page) => [page.path, page] as const))(
  'links only to what the package contains: %s',
  (_, page) => {
    expect(findBrokenLinks(page, root, isReachable)).toEqual([]);
  },
);

const elsewhere: Page = {
  path: 'docs/a.md',
  text: '# A b, `c`!\n[x](#a-b-c) [x](#a-b) [x](lost.md "t") ![x](../README.md#payment-collection-client)\n`[x](y)`\n```ts\n[x](z)\n```\n<img src="lost.png">\n[x](../src) [x](../examples/demo.ts) [x](../../b.md)',
};

test('reports a broken link with its line', () => {
  expect(findBrokenLinks(elsewhere, root)).toEqual([
    'docs/a.md:2 #a-b',
    'docs/a.md:2 lost.md',
    'docs/a.md:7 lost.png',
    'docs/a.md:8 ../../b.md',
  ]);
  expect(findBrokenLinks(elsewhere, root, isReachable)).toContain('docs/a.md:8 ../src');
});
