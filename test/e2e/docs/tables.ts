import { withoutBlocks } from './blocks.ts';
import { pages } from './pages.ts';

/** Returns the text of a page. */
export function readPage(path: string): string {
  const page = pages.find((candidate) => candidate.path === path);
  if (!page) throw new Error(`There is no page ${path}.`);
  return page.text;
}

/** Returns what is below a heading, until the next one of its level. */
export function sectionOf(text: string, heading: string): string {
  const masked = withoutBlocks(text);
  const headings = [...masked.matchAll(/^(?<level>#{1,6}) +(?<title>.+?) *$/gm)];
  const found = headings.find(({ groups }) => groups?.title === heading);
  if (!found) throw new Error(`There is no heading ${heading}.`);
  const level = found.groups?.level?.length ?? 0;
  const next = headings.find(
    ({ index, groups }) => index > found.index && (groups?.level?.length ?? 0) <= level,
  );
  return text.slice(found.index + found[0].length, next?.index);
}

/** Returns the rows of every table in a text, without their heads. A cell keeps its Markdown. */
export function rowsOf(text: string): string[][] {
  const tables = withoutBlocks(text).matchAll(/^\|.*\n\| ?-.*\n(?<rows>(?:\|.*(?:\n|$))*)/gm);
  return [...tables].flatMap(({ groups }) =>
    (groups?.rows ?? '')
      .trim()
      .split('\n')
      .filter((row) => row !== '')
      .map((row) =>
        row
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );
}

/** Returns what is in code marks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`(?<code>[^`]+)`/g)].map(({ groups }) => groups?.code ?? '');
}

/** Lists what the fenced blocks of a text in one language show. */
export function fencedIn(text: string, language: string): string[] {
  return [...text.matchAll(/^```(?<language>\w+)\n(?<code>.*?)^```$/gms)].flatMap(({ groups }) =>
    groups?.language === language ? [groups.code ?? ''] : [],
  );
}
