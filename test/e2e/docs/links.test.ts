import { expect, test } from 'vitest';
import { findBrokenLinks } from './links.ts';
import { isPacked, isReachable } from './packed.ts';
import { pages, root } from './pages.ts';

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
