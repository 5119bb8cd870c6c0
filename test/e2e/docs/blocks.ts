import { posix } from 'node:path';
import ts from 'typescript';
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
const FILE_NAME = /^\/\/ (?<name>[\w./@[\]-]+\.m?[jt]s)\n/;
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

/** Returns the name of the file that a block shows, from the comment in its first line: `// payments.ts`. */
export function fileNameOf({ code }: Block): string | undefined {
  return FILE_NAME.exec(code)?.groups?.name;
}

const withoutExtension = (path: string) => path.replace(/\.m?[jt]s$/, '');

/** The page with `payments.ts`, the file of the shop that other pages import and link to. */
const ORDERS = 'docs/guides/orders.md';

/**
 * Finds the file of the same page that a block imports with `./payments.ts` or `./payments.js`. If the page shows several of
 * that name, it is the last one above the block. If it shows none, it is that of the guide to orders.
 */
export function findFile(block: Block, specifier: string, blocks: readonly Block[]): Block | undefined {
  if (!specifier.startsWith('.')) return;
  const path = withoutExtension(posix.join(posix.dirname(fileNameOf(block) ?? ''), specifier));
  const named = blocks.filter(
    (other) => other !== block && withoutExtension(fileNameOf(other) ?? '') === path,
  );
  const files = named.filter(({ page }) => page === block.page);
  return (
    files.findLast(({ line }) => line < block.line) ?? files[0] ?? named.find(({ page }) => page === ORDERS)
  );
}

/** Lists a block and the files of its page that it imports, itself or through others. */
export function withFiles(block: Block, blocks: readonly Block[], seen = new Set<Block>()): Block[] {
  if (seen.has(block)) return [];
  seen.add(block);
  const imported = ts.preProcessFile(block.code).importedFiles;
  const files = imported.flatMap(({ fileName }) => findFile(block, fileName, blocks) ?? []);
  return [block, ...files.flatMap((file) => withFiles(file, blocks, seen))];
}

/** Whether the block is a file that test files import, such as `mock-payments.ts`: they run it. */
export const isTestHelper = (block: Block): boolean =>
  isTestFile(block) && !/\.test\.\w+$/.test(fileNameOf(block) ?? '.test.ts');

/** Whether the block is a test file. */
export const isTestFile = ({ code }: Block): boolean =>
  /^import .* from '(?:vitest|node:test)';$/m.test(code);

/** Whether that test file is for Node's test runner. */
export const isNodeTest = ({ code }: Block): boolean => / from 'node:test';$/m.test(code);

/** Whether the block is for Playwright's own runner: `test/e2e/browser/playwright.test.ts` runs it. */
export const isForPlaywright = ({ code }: Block): boolean =>
  /^import .* from '@playwright\/test';$/m.test(code);
