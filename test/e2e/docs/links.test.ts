import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { withoutBlocks } from './blocks.ts';
import { type Page, pages, root } from './pages.ts';

const INLINE_CODE = /`[^`\n]*`/g;
const LINK = /\]\(<?(?<target>[^)\s>]+)[^)]*\)|\b(?:src|href)="(?<attribute>[^"]+)"/g;
const HEADING = /^#{1,6} +(?<heading>.+?) *$/gm;

const EXTERNAL = /^[a-z][a-z+.-]*:/;

/** Lists the anchors of a page as GitHub makes them. The second of two equal headings ends in `-1`. */
function listAnchors(text: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutBlocks(text).matchAll(HEADING)].map(({ groups }) => {
    const words = (groups?.heading ?? '').replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

/** Lists the broken links of a page, such as `README.md:12 docs/lost.md`. */
function findBrokenLinks({ path, text }: Page): string[] {
  const prose = withoutBlocks(text).replace(INLINE_CODE, (code) => ' '.repeat(code.length));
  return [...prose.matchAll(LINK)].flatMap(({ index, groups }) => {
    const target = groups?.target ?? groups?.attribute ?? '';
    if (EXTERNAL.test(target) || isValidTarget(path, text, target)) return [];
    return [`${path}:${text.slice(0, index).split('\n').length} ${target}`];
  });
}

function isValidTarget(path: string, text: string, target: string): boolean {
  const [file = '', anchor] = target.split('#').map(decodeURIComponent);
  const there = root + join(dirname(path), file);
  if (file !== '' && !existsSync(there)) return false;
  if (anchor === undefined) return true;
  return listAnchors(file === '' ? text : readFileSync(there, 'utf8')).includes(anchor);
}

test('finds the pages', () => {
  expect(pages.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'docs/reference/errors.md']),
  );
});

test.each(pages.map((page) => [page.path, page] as const))(
  'links only to existing files and headings: %s',
  (_, page) => {
    expect(findBrokenLinks(page)).toEqual([]);
  },
);

const elsewhere: Page = {
  path: 'docs/a.md',
  text: '# A b, `c`!\n[x](#a-b-c) [x](#a-b) [x](lost.md "t") ![x](../README.md#install)\n`[x](y)`\n```ts\n[x](z)\n```\n<img src="lost.png">',
};

test('reports a broken link with its line', () => {
  expect(findBrokenLinks(elsewhere)).toEqual([
    'docs/a.md:2 #a-b',
    'docs/a.md:2 lost.md',
    'docs/a.md:7 lost.png',
  ]);
});
