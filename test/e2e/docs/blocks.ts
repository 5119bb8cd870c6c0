import type { Page } from './pages.ts';

/** A piece of TypeScript that a page shows. */
export interface Block {
  readonly page: string;
  /** The heading above it, with a number where another block under it came first. */
  readonly heading: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
  /** Why it cannot be run here, from the comment `<!-- not run: … -->` just before it. */
  readonly notRun: string | null;
}

const FENCED = /^(?<fence>`{3,}|~{3,})(?<language>[^\n]*)\n(?<code>.*?)^\k<fence>[^\S\n]*$/gms;
const HEADING = /^#{1,6} +(?<heading>.+?) *$/gm;
const NOT_RUN = /<!-- not run: (?<reason>[^\n]+?) -->\n+$/;

/** The page with each fenced block blanked out, so that what it shows is not taken for the page's own. */
export function withoutBlocks(text: string): string {
  return text.replace(FENCED, (block) => block.replace(/[^\n]/g, ' '));
}

/** Every block of a page whose language is `ts`. */
export function blocksOf({ path, text }: Page): Block[] {
  const headings = [...withoutBlocks(text).matchAll(HEADING)];
  const seen = new Map<string, number>();
  return [...text.matchAll(FENCED)]
    .filter(({ groups }) => groups?.language?.trim() === 'ts')
    .map(({ index, groups }) => {
      const above = headings.findLast((heading) => heading.index < index)?.groups?.heading ?? 'the beginning';
      const nth = (seen.get(above) ?? 0) + 1;
      seen.set(above, nth);
      return {
        page: path,
        heading: nth === 1 ? above : `${above} (${nth})`,
        line: text.slice(0, index).split('\n').length + 1,
        code: groups?.code ?? '',
        notRun: NOT_RUN.exec(text.slice(0, index))?.groups?.reason ?? null,
      };
    });
}

/** Whether the block is a test file, to be run as one. */
export const isTestFile = ({ code }: Block): boolean =>
  /^import .* from '(?:vitest|node:test)';$/m.test(code);

/** Whether that test file is for Node's own runner. */
export const isNodeTest = ({ code }: Block): boolean => / from 'node:test';$/m.test(code);
