import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { withoutBlocks } from './blocks.ts';
import type { Page } from './pages.ts';

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

/** A link to another file or heading, with the line that it is in. */
interface Link {
  readonly line: number;
  readonly target: string;
}

/** Lists the links of a page that are relative. */
function listLinks(text: string): Link[] {
  const prose = withoutBlocks(text).replace(INLINE_CODE, (code) => ' '.repeat(code.length));
  return [...prose.matchAll(LINK)].flatMap(({ index, groups }) => {
    const target = groups?.target ?? groups?.attribute ?? '';
    return EXTERNAL.test(target) ? [] : [{ line: text.slice(0, index).split('\n').length, target }];
  });
}

/**
 * Lists the broken links of a page below a folder, such as `README.md:12 docs/lost.md`. `isThere` can hide a file that is in
 * the folder.
 */
export function findBrokenLinks(
  { path, text }: Page,
  folder: string,
  isThere: (path: string) => boolean = () => true,
): string[] {
  return listLinks(text).flatMap(({ line, target }) => {
    const [file = '', anchor] = target.split('#').map(decodeURIComponent);
    const to = file === '' ? path : posix.join(posix.dirname(path), file);
    const place = join(folder, to);
    const isFile = file === '' || (!to.startsWith('../') && existsSync(place) && isThere(to));
    const isValid =
      isFile &&
      (anchor === undefined ||
        listAnchors(file === '' ? text : readFileSync(place, 'utf8')).includes(anchor));
    return isValid ? [] : [`${path}:${line} ${target}`];
  });
}
