import type { Page } from './pages.ts';

/** A piece of TypeScript that a page shows. */
export interface Block {
  readonly page: string;
  /** The heading above it, with a number from the second block on. */
  readonly heading: string;
  /** The number of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
  /** Why it is not run, from the comment `<!-- not run: … -->` before it. */
  readonly notRun: string | null;
}

const FENCED = /^(?<fence>`{3,}|~{3,})(?<language>[^\n]*)\n(?<code>.*?)^\k<fence>[^\S\n]*$/gms;
const HEADING = /^#{1,6} +(?<heading>.+?) *$/gm;
const NOT_RUN = /<!-- not run: (?<reason>[^\n]+?) -->\n+$/;

/** Replaces each fenced block by blanks, so that its content is not read as the page's own. */
export function withoutBlocks(text: string): string {
  return text.replace(FENCED, (block) => block.replace(/[^\n]/g, ' '));
}

/** Lists the `ts` blocks of a page. */
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

/** Whether the block is a test file. */
export const isTestFile = ({ code }: Block): boolean =>
  /^import .* from '(?:vitest|node:test)';$/m.test(code);

/** Whether that test file is for Node's test runner. */
export const isNodeTest = ({ code }: Block): boolean => / from 'node:test';$/m.test(code);

/** Whether the block is for Playwright's own runner: `test/e2e/browser/playwright.test.ts` runs it. */
export const isForPlaywright = ({ code }: Block): boolean =>
  /^import .* from '@playwright\/test';$/m.test(code);
